// Sound of files for the finder: rows B17 and B18, codecs, jumps, damage; accuracy of what was
// encoded again.
#include "worker/sound_source.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "sound/correlate.h"
#include "support/corpus.h"
#include "worker/scratch_file.h"
#include "worker/sound_file.h"
#include "worker/sound_maker.h"

namespace quern::worker {
namespace {

using sound::Samples;
constexpr std::size_t kSecond = sound::kRate;

constexpr SoundForm kWav{};
constexpr SoundForm kMp3{"libmp3lame", "mp3", 44'100, 64'000};
constexpr SoundForm kFlac{"flac", "flac", 44'100, 0};
constexpr SoundForm kAac{"aac", "mp4", 44'100, 96'000};
constexpr SoundForm kOpus{"libopus", "ogg", 48'000, 64'000};
constexpr SoundForm kWav48{"pcm_s16le", "wav", 48'000, 0};

// Of a file in memory.
class Opened {
 public:
  explicit Opened(const std::string& bytes) : file_(*make_memory_file(bytes)) {
    warm_sound();
    source_ = SoundSource::open({file_.get(), bytes.size(), 0, ""});
  }
  const Result<std::unique_ptr<SoundSource>>& result() const { return source_; }
  sound::Source& operator*() { return **source_; }

  Samples all() { return from(0, SIZE_MAX); }
  Samples from(std::size_t sample, std::size_t count) {
    CHECK((*source_)->seek(static_cast<std::int64_t>(sample)).ok());
    Samples result, part(10'000);
    while (result.size() < count) {
      const std::size_t want = std::min(part.size(), count - result.size());
      const std::size_t got = *(*source_)->read(std::span(part).first(want));
      if (got == 0) break;
      result.insert(result.end(), part.begin(), part.begin() + long(got));
    }
    return result;
  }

 private:
  io::Descriptor file_;
  Result<std::unique_ptr<SoundSource>> source_ = Error(Errc::Missing, "");
};

std::string encoded(const Samples& samples, const SoundForm& form) {
  return make_sound(form, {at_rate(samples, form.rate)});
}

std::vector<sound::Occurrence> find(const std::string& episode, const std::string& clip) {
  Opened source(episode), small(clip);
  CHECK(source.result().ok() && small.result().ok());
  const auto fingerprint = *sound::make_fingerprint(*source, nullptr);
  const sound::Clip prepared = *sound::prepare(*small);
  const auto places = *sound::candidates(fingerprint, prepared);
  return *sound::confirm(*source, prepared, places);
}

std::vector<double> seconds_of(const std::vector<sound::Occurrence>& found) {
  std::vector<double> result;
  for (const auto& one : found) result.push_back(double(one.offset_ns) / 1e9);
  return result;
}

struct Planted {
  Samples episode = sound::make_speech(7, 30 * kSecond);
  Samples clip = sound::make_speech(101, 2 * kSecond);
  double at_s = 17.4;
  Planted() { sound::plant(episode, clip, std::size_t(at_s * kSecond)); }
};

TEST(SoundSourceTest, B17_AClipOnTheRightChannelOnlyIsFound) {
  const Planted planted;
  const Samples clip = at_rate(planted.clip, 44'100);
  const std::string right = make_sound(kFlac, {Samples(clip.size()), clip});
  const auto found = find(encoded(planted.episode, kMp3), right);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(seconds_of(found)[0], planted.at_s, 0.001);
  // Also the other way round: the episode has it on the right, something else on the left.
  Samples left(planted.episode.size());
  sound::add_noise(left, 30, 1);
  const std::string episode =
      make_sound(kFlac, {at_rate(left, 44'100), at_rate(planted.episode, 44'100)});
  EXPECT_EQ(find(episode, encoded(planted.clip, kWav)).size(), 1U);
}

TEST(SoundSourceTest, B17_ChannelsThatCancelEachOtherAreHeard) {
  const Planted planted;
  const Samples plus = at_rate(planted.episode, 44'100);
  Samples minus = plus;
  for (float& sample : minus) sample = -sample;
  const auto found = find(make_sound(kFlac, {plus, minus}), encoded(planted.clip, kWav));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(seconds_of(found)[0], planted.at_s, 0.001);
}

TEST(SoundSourceTest, B17_ARateThatChangesInTheMiddleLosesNoFrame) {
  const Planted planted;
  const auto cut = planted.episode.begin() + 10 * kSecond;
  const SoundForm at44{"mp2", "mp2", 44'100, 128'000}, at48{"mp2", "mp2", 48'000, 128'000};
  const std::string first = encoded({planted.episode.begin(), cut}, at44);
  const std::string second = encoded({cut, planted.episode.end()}, at48);
  Opened alone(first), both(first + second);
  const double begins_s = double(alone.all().size()) / kSecond;
  const double all_s = double(both.all().size()) / kSecond;
  EXPECT_NEAR(all_s, begins_s + double(Opened(second).all().size()) / kSecond, 0.0002);
  const auto found = find(first + second, encoded(planted.clip, kWav));
  ASSERT_EQ(found.size(), 1U);
  // As in the second file alone, and what was before it.
  const auto in_second = find(second, encoded(planted.clip, kWav));
  ASSERT_EQ(in_second.size(), 1U);
  EXPECT_NEAR(seconds_of(found)[0], begins_s + seconds_of(in_second)[0], 0.001);
}

TEST(SoundSourceTest, B17_LeadingSilenceCounts) {
  Planted planted;
  planted.episode.insert(planted.episode.begin(), 10 * kSecond, 0.0F);
  for (const SoundForm& form : {kWav, kMp3}) {
    const auto found = find(encoded(planted.episode, form), encoded(planted.clip, kWav));
    ASSERT_EQ(found.size(), 1U) << form.codec;
    EXPECT_NEAR(seconds_of(found)[0], 10 + planted.at_s, 0.001) << form.codec;
  }
}

TEST(SoundSourceTest, B18_WhatCannotBeReadSaysSo) {
  std::string mp3 = encoded(sound::make_speech(3, 2 * kSecond), kMp3);
  std::string noise(20'000, '\0');
  sound::Dice dice(5);
  for (char& byte : noise) byte = static_cast<char>(dice.below(256));
  for (const std::string& bytes : {std::string(), noise, mp3.substr(0, 300)}) {
    Opened opened(bytes);
    ASSERT_FALSE(opened.result().ok()) << bytes.size();
    EXPECT_EQ(opened.result().error().kind(), Errc::Invalid);
    EXPECT_FALSE(opened.result().error().message().empty());
  }
}

TEST(SoundSourceTest, B18_DamageInTheMiddleLosesOnlyWhatIsDamaged) {
  const Planted planted;
  std::string mp4 = encoded(planted.episode, kAac);
  const std::size_t damaged = mp4.size() / 4;
  for (std::size_t i = 0; i < 600; ++i) mp4[damaged + i] = '\x55';
  const auto found = find(mp4, encoded(planted.clip, kWav));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(seconds_of(found)[0], planted.at_s, 0.001);
}

TEST(SoundSourceTest, JumpsGiveWhatReadingGives) {
  const Planted planted;
  for (const SoundForm& form : {kWav, kMp3, kFlac, kAac, kOpus, kWav48}) {
    Opened opened(encoded(planted.episode, form));
    ASSERT_TRUE(opened.result().ok()) << form.codec;
    const Samples all = opened.all();
    EXPECT_NEAR(double(all.size()), double(planted.episode.size()), kSecond / 10.0) << form.codec;
    for (const double at_s : {20.0, 3.3, 25.5, 0.0, 11.1}) {
      const std::size_t at = std::size_t(at_s * kSecond);
      const Samples part = opened.from(at, kSecond);
      ASSERT_EQ(part.size(), kSecond) << form.codec;
      // Not to the bit: AAC fills bands with noise that begins anew.
      Samples there = part;
      const sound::Template same = sound::make_template(there);
      const double score = sound::score_at(all, at, same);
      EXPECT_GT(score, form.codec == kAac.codec ? 0.98 : 0.9999) << form.codec << " " << at_s;
      if (at == 0) continue;
      EXPECT_GT(score, sound::score_at(all, at - 1, same)) << form.codec << " " << at_s;
      EXPECT_GT(score, sound::score_at(all, at + 1, same)) << form.codec << " " << at_s;
    }
    EXPECT_TRUE(opened.from(all.size() + 5, 10).empty()) << form.codec;
  }
}

// Both 1.0, for what the documents promise: clean, quieter, encoded again; offsets within 1 ms.
TEST(SoundSourceTest, EncodedAgainEverythingIsFoundAndNothingElse) {
  const Samples speech = sound::make_speech(11, 40 * kSecond);
  const Samples music = sound::make_music(12, 40 * kSecond);
  for (const Samples& episode : {speech, music}) {
    const std::string as_mp3 = encoded(episode, kMp3), as_aac = encoded(episode, kAac);
    for (const auto& [begin_s, length_s] : {std::pair{0.0, 1.0}, {12.3, 1.0}, {33.0, 5.0}}) {
      const auto begin = episode.begin() + long(begin_s * kSecond);
      Samples clip(begin, begin + long(length_s * kSecond));
      for (float& sample : clip) sample *= 0.251F;
      for (const std::string& file : {as_mp3, as_aac}) {
        for (const SoundForm& form : {kWav, kMp3}) {
          const auto found = find(file, encoded(clip, form));
          ASSERT_EQ(found.size(), 1U) << begin_s << " " << form.codec;
          EXPECT_NEAR(seconds_of(found)[0], begin_s, 0.001) << form.codec;
          EXPECT_GT(found[0].score, 0.8);
        }
      }
    }
  }
}

TEST(SoundSourceTest, AClipOfOneEncodingIsFoundInTheOthersOfTheSameRecording) {
  QUERN_CORPUS_OR_SKIP(corpus);  // QUERN_CORPUS
  const std::string folder = corpus.string() + "/audio/same-recording/sample_10s_audio-";
  std::vector<std::string> files;
  for (const char* name : {"aac.aac", "m4a.m4a", "mp3.mp3", "ogg.ogg"}) {
    std::ifstream in(folder + name, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    ASSERT_GT(files.back().size(), 100'000U) << name;
  }
  for (std::size_t of = 0; of < files.size(); ++of) {
    Samples clip = Opened(files[of]).from(4 * kSecond, 2 * kSecond);
    const std::string cut = encoded(clip, kWav);
    for (std::size_t in = 0; in < files.size(); ++in) {
      const auto found = find(files[in], cut);
      ASSERT_EQ(found.size(), 1U) << of << " in " << in;
      // Encoders put up to 50 ms of silence before the sound.
      EXPECT_NEAR(seconds_of(found)[0], 4, in == of ? 0.0001 : 0.06) << of << " in " << in;
      EXPECT_GT(found[0].score, 0.9) << of << " in " << in;
    }
  }
}

}  // namespace
}  // namespace quern::worker
