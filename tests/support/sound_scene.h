// For tests of research: four episodes and six clips as WAV files, and what of which is where.
#pragma once

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sound/made_sound.h"

namespace quern::support {

// One channel of 16 bits at the finder's rate.
inline void write_wav(const std::filesystem::path& path, const sound::Samples& samples) {
  std::string bytes = "RIFF....WAVEfmt ";
  const auto put = [&bytes](std::uint32_t value, int count) {
    for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  };
  const auto data_bytes = static_cast<std::uint32_t>(samples.size() * 2);
  put(16, 4);
  put(1, 2);
  put(1, 2);
  put(sound::kRate, 4);
  put(sound::kRate * 2, 4);
  put(2, 2);
  put(16, 2);
  bytes += "data";
  put(data_bytes, 4);
  for (const float sample : samples) {
    const double limited = std::fmax(-1, std::fmin(1, sample));
    put(static_cast<std::uint32_t>(std::lround(limited * 32767)), 2);
  }
  const std::uint32_t riff_bytes = data_bytes + 36;
  std::memcpy(bytes.data() + 4, &riff_bytes, 4);
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

// By the names of files: "episode-0", "clip-3", and where it begins, in samples.
using Planted = std::map<std::pair<std::string, std::string>, std::vector<std::size_t>>;

inline sound::Samples scene_clip(int number) {
  const auto count = static_cast<std::size_t>(sound::kRate * (1.5 + 0.25 * number));
  return number % 2 == 0 ? sound::make_music(100 + number, count)
                         : sound::make_speech(100 + number, count);
}

struct SoundScene {
  std::filesystem::path episodes, clips;  // folders
  Planted planted;
};

inline SoundScene make_sound_scene(const std::filesystem::path& folder) {
  struct Plant {
    int episode, clip;
    double seconds;  // below 0: at the very end
  };
  constexpr Plant kPlants[] = {{0, 0, 5},  {0, 1, 12.5}, {0, 0, 20}, {1, 2, 0},
                               {1, 3, -1}, {3, 4, 3},    {3, 0, 10}};
  SoundScene scene{folder / "episodes", folder / "clips", {}};
  std::vector<sound::Samples> episodes;
  for (int i = 0; i < 4; ++i) episodes.push_back(sound::make_speech(200 + i, sound::kRate * 30));
  for (const Plant& plant : kPlants) {
    sound::Samples& episode = episodes[plant.episode];
    const sound::Samples clip = scene_clip(plant.clip);
    const std::size_t at = plant.seconds < 0
                               ? episode.size() - clip.size()
                               : static_cast<std::size_t>(plant.seconds * sound::kRate);
    std::copy(clip.begin(), clip.end(), episode.begin() + static_cast<std::ptrdiff_t>(at));
    const std::string name = "episode-" + std::to_string(plant.episode);
    scene.planted[{name, "clip-" + std::to_string(plant.clip)}].push_back(at);
  }
  for (int i = 0; i < 4; ++i) {
    write_wav(scene.episodes / ("episode-" + std::to_string(i) + ".wav"), episodes[i]);
  }
  for (int i = 0; i < 6; ++i) {
    write_wav(scene.clips / ("clip-" + std::to_string(i) + ".wav"), scene_clip(i));
  }
  return scene;
}

}  // namespace quern::support
