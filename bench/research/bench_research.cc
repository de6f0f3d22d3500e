// Question: what does it cost to find clips in episodes, in seconds of one processor?
// Expect: indexing an episode costs about what decoding it costs; 100 clips against an hour take
// less than 10 s, one clip against 1,000 stored hours less than 60 s; the direct search that the
// seed's system used takes at least 100 times as long per clip.
//
//   bench_research [--smoke] [--json] [--only=cost|stored|accuracy] [--episode=S] [--accuracy=S]
//
// Seconds are those of the processor, so that a busy machine gives the same.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "bench/research/rig.h"

namespace quern::bench {
namespace {

using sound::kRate;
using sound::Samples;

void print(const Plan& plan, const char* what, double seconds, double value, const char* unit) {
  if (plan.json) {
    std::printf("{\"case\":\"%s\",\"cpu_seconds\":%.4f,\"value\":%.4g,\"unit\":\"%s\"}\n", what,
                seconds, value, unit);
  } else {
    std::printf("%-42s %10.3f s  %12.4g %s\n", what, seconds, value, unit);
  }
  std::fflush(stdout);
}

// Speech, every fifth minute with music.
Samples make_episode(int seconds) {
  Samples episode = sound::make_speech(1, static_cast<std::size_t>(seconds) * kRate);
  for (int at = 240; at + 60 <= seconds; at += 300) {
    sound::plant(episode, sound::make_music(std::uint64_t(at), std::size_t(60) * kRate),
                 static_cast<std::size_t>(at) * kRate);
  }
  return episode;
}

// Every other one is in the episode; one to six seconds.
std::vector<Samples> make_clips(const Samples& episode, int count) {
  sound::Dice dice(3);
  const double all_s = double(episode.size()) / kRate;
  std::vector<Samples> clips;
  for (int i = 0; i < count; ++i) {
    const double length_s = dice.between(1, 6);
    const double from_s = dice.between(0, all_s - length_s - 1);
    const auto other = static_cast<std::size_t>(length_s * kRate);
    clips.push_back(i % 2 == 0 ? cut(episode, from_s, length_s)
                               : sound::make_speech(std::uint64_t(5000 + i), other));
  }
  return clips;
}

struct Searched {
  double prepare_s = 0, search_s = 0;
  int found = 0;
};

Searched search(sound::Source& source, const sound::Fingerprint& print,
                std::span<const Samples> clips) {
  Searched result;
  const double begin = cpu_seconds();
  std::vector<sound::Clip> prepared;
  for (const Samples& clip : clips) prepared.push_back(clip_of(clip));
  const double ready = cpu_seconds();
  std::vector<sound::Search> searches;
  for (const auto& clip : prepared) searches.push_back({&clip, *sound::candidates(print, clip)});
  const auto done = sound::confirm(source, searches, [&](std::size_t, auto found) -> Result<> {
    result.found += found.empty() ? 0 : 1;
    return {};
  });
  CHECK_OK(done);
  result.prepare_s = ready - begin;
  result.search_s = cpu_seconds() - ready;
  return result;
}

// Index, then clips, then the direct search of the same clips in a part of the same episode.
int measure_cost(const Plan& plan) {
  const Samples episode = make_episode(plan.episode_s);
  const worker::SoundForm form{"libmp3lame", "mp3", 44'100, 96'000};
  SoundFile file(worker::make_sound(form, {worker::at_rate(episode, form.rate)}));
  double begin = cpu_seconds();
  const sound::Fingerprint fingerprint = *sound::make_fingerprint(file.source(), nullptr);
  double took = cpu_seconds() - begin;
  print(plan, "index an MP3 (decode, fingerprint)", took, plan.episode_s / took, "x real time");
  print(plan, "fingerprint, size", 0,
        double(fingerprint.encode().size()) * 3600 / plan.episode_s / 1e6, "MB an hour");
  const std::vector<Samples> clips = make_clips(episode, plan.clips.back());
  double per_clip = 0;
  int failures = 0;
  for (const int count : plan.clips) {
    const auto some = std::span(clips).first(static_cast<std::size_t>(count));
    const Searched got = search(file.source(), fingerprint, some);
    const std::string name = std::to_string(count) + " clips, prepare";
    print(plan, name.c_str(), got.prepare_s, got.prepare_s / count * 1e3, "ms a clip");
    const std::string found =
        std::to_string(count) + " clips, search (" + std::to_string(got.found) + " found)";
    print(plan, found.c_str(), got.search_s, plan.episode_s / got.search_s, "x real time");
    failures += got.found == (count + 1) / 2 ? 0 : 1;
    if (count <= 100) per_clip = (got.search_s + got.prepare_s) / count * 3600 / plan.episode_s;
  }
  std::vector<Samples> bells;
  for (std::uint64_t i = 0; i < 10; ++i) bells.push_back(sound::make_bell(i, kRate));
  const Searched rung = search(file.source(), fingerprint, bells);
  print(plan, "10 bells: compared with everything", rung.search_s, plan.episode_s / rung.search_s,
        "x real time");
  failures += rung.found;
  const Samples part = cut(episode, 0, std::min(plan.direct_s, plan.episode_s));
  begin = cpu_seconds();
  std::size_t direct_found = 0;
  for (int i = 0; i < 3; ++i) direct_found += search_directly(part, clips[std::size_t(i)]);
  took = (cpu_seconds() - begin) / 3 * 3600 * kRate / double(part.size());
  print(plan, "direct two-pass search, a clip and hour", took, double(direct_found), "found");
  print(plan, "ours, a clip and hour (of 100 at most)", per_clip, took / per_clip,
        "x faster than direct");
  return failures;
}

// Fingerprints of nothing: random words, read from their bytes as if they were stored.
void measure_stored(const Plan& plan) {
  constexpr std::size_t kHourSamples = 3600UL * kRate;
  constexpr std::size_t kWords = (kHourSamples - 4096) / 512 + 1;
  sound::Dice dice(9);
  std::vector<std::string> stored;
  for (int i = 0; i < 10; ++i) {
    std::vector<std::uint32_t> words(kWords);
    for (auto& word : words) word = static_cast<std::uint32_t>(dice.between(0, 4294967295.0));
    stored.push_back(sound::Fingerprint(std::int64_t(kHourSamples), std::move(words)).encode());
  }
  for (const double length_s : {1.0, 3.0, 10.0}) {
    const sound::Clip clip =
        clip_of(sound::make_speech(77, static_cast<std::size_t>(length_s * kRate)));
    const double begin = cpu_seconds();
    std::size_t places = 0;
    for (int hour = 0; hour < plan.stored_hours; ++hour) {
      const auto print = sound::Fingerprint::decode(stored[std::size_t(hour) % stored.size()]);
      places += sound::candidates(*print, clip)->size();
    }
    const double took = (cpu_seconds() - begin) * 1000 / plan.stored_hours;
    const std::string name =
        "1 clip of " + std::to_string(int(length_s)) + " s, 1,000 stored hours";
    print(plan, name.c_str(), took, double(places) * 1000 / plan.stored_hours, "candidates");
  }
}

// What follows the name among the arguments; 0 where it is not there.
int number_of(int count, char** arguments, std::string_view name) {
  for (int i = 1; i < count; ++i) {
    if (std::string_view(arguments[i]).starts_with(name)) {
      return std::atoi(arguments[i] + name.size());
    }
  }
  return 0;
}

int run(int count, char** arguments) {
  Plan plan;
  std::string_view only;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--smoke") plan.smoke = true;
    if (argument == "--json") plan.json = true;
    if (argument.starts_with("--only=")) only = argument.substr(7);
  }
  if (const int seconds = number_of(count, arguments, "--episode="); seconds > 0) {
    plan.episode_s = seconds;
  }
  if (const int seconds = number_of(count, arguments, "--accuracy="); seconds > 0) {
    plan.accuracy_s = seconds;
  }
  if (plan.smoke) {
    plan.episode_s = 60;
    plan.clips = {1, 10};
    plan.stored_hours = 10;
    plan.direct_s = 5;
    plan.accuracy_s = 20;
    plan.accuracy_clips = 2;
  }
  worker::warm_sound();
  int failures = 0;
  if (only.empty() || only == "cost") failures += measure_cost(plan);
  if (only.empty() || only == "stored") measure_stored(plan);
  if (only.empty() || only == "accuracy") measure_accuracy(plan);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace quern::bench

int main(int count, char** arguments) {
  return quern::bench::run(count, arguments);
}
