// The finder on made sounds: rows B16 and B18, the changes it bears, what it must not find.
#include "sound/finder.h"

#include <gtest/gtest.h>

#include "sound/clip.h"
#include "sound/made_sound.h"
#include "sound/speed.h"

namespace quern::sound {
namespace {

constexpr std::size_t kSecond = kRate;

Clip clip_of(const Samples& samples) {
  MemorySource source(samples);
  return *prepare(source);
}

std::vector<Occurrence> find(const Samples& episode, const Samples& clip) {
  MemorySource source(episode);
  const Fingerprint fingerprint = *make_fingerprint(source, nullptr);
  const Clip prepared = clip_of(clip);
  const auto places = candidates(fingerprint, prepared);
  CHECK(places.ok());
  return *confirm(source, prepared, *places);
}

double sample_of(const Occurrence& occurrence) {
  return double(occurrence.offset_ns) * kRate / 1e9;
}

std::vector<long> samples_of(const std::vector<Occurrence>& found) {
  std::vector<long> result;
  for (const Occurrence& one : found) result.push_back(std::lround(sample_of(one)));
  return result;
}

// Both kinds of sound: the clip is of the one, the episode of speech with music in it.
class FinderTest : public ::testing::TestWithParam<const char*> {
 protected:
  FinderTest() {
    const bool music = std::string_view(GetParam()) == "music";
    clip_ = music ? make_music(101, kSecond * 2 + 123) : make_speech(101, kSecond * 2 + 123);
    episode_ = make_speech(7, kSecond * 40);
    plant(episode_, make_music(8, kSecond * 10), kSecond * 20);
  }
  Samples clip_, episode_;
};

TEST_P(FinderTest, B16_AtTheBeginningInTheMiddleAndUpToTheLastSample) {
  const std::size_t last = episode_.size() - clip_.size();
  for (const std::size_t at : {std::size_t(0), std::size_t(1), 15 * kSecond + 77, last - 1, last}) {
    Samples episode = episode_;
    plant(episode, clip_, at);
    const auto found = find(episode, clip_);
    ASSERT_EQ(found.size(), 1U) << at;
    EXPECT_NEAR(sample_of(found[0]), double(at), 0.1);
    EXPECT_GT(found[0].score, 0.999);
    EXPECT_EQ(found[0].speed, 1);
  }
}

TEST_P(FinderTest, B16_BackToBackIsTwo) {
  const std::size_t at = 9 * kSecond + 5;
  plant(episode_, clip_, at);
  plant(episode_, clip_, at + clip_.size());
  EXPECT_EQ(samples_of(find(episode_, clip_)),
            (std::vector<long>{long(at), long(at + clip_.size())}));
}

TEST_P(FinderTest, B16_OverlappingByHalfIsTwoWhetherMixedOrCutInto) {
  const std::size_t at = 9 * kSecond + 5, half = clip_.size() / 2;
  const std::vector<long> both{long(at), long(at + half)};
  Samples cut = episode_;
  plant(cut, clip_, at);
  plant(cut, clip_, at + half);
  EXPECT_EQ(samples_of(find(cut, clip_)), both);
  Samples mixed = episode_;
  plant(mixed, Samples(clip_.size() + half), at);
  for (std::size_t i = 0; i < clip_.size(); ++i) {
    mixed[at + i] += clip_[i];
    mixed[at + half + i] += clip_[i];
  }
  EXPECT_EQ(samples_of(find(mixed, clip_)), both);
}

TEST_P(FinderTest, B16_AtMinusTwelveDecibelsAndOneSampleApart) {
  for (const std::size_t at : {12 * kSecond - 1, 12 * kSecond, 12 * kSecond + 1}) {
    Samples episode = episode_;
    plant(episode, clip_, at, 0.251F);
    const auto found = find(episode, clip_);
    ASSERT_EQ(found.size(), 1U) << at;
    EXPECT_NEAR(sample_of(found[0]), double(at), 0.1);
    EXPECT_GT(found[0].score, 0.999);
  }
}

TEST_P(FinderTest, ManyTimesIsFoundAsManyTimes) {
  std::vector<long> planted;
  for (std::size_t at = kSecond / 3; at + clip_.size() < episode_.size();
       at += clip_.size() + 4321) {
    plant(episode_, clip_, at);
    planted.push_back(long(at));
  }
  EXPECT_EQ(samples_of(find(episode_, clip_)), planted);
}

TEST_P(FinderTest, TwoPercentFasterOrSlowerIsFound) {
  for (const double speed : {0.97, 0.987, 1.0003, 1.004, 1.02}) {
    Samples episode = episode_;
    plant(episode, at_speed(clip_, speed), 11 * kSecond + 99);
    const auto found = find(episode, clip_);
    ASSERT_EQ(found.size(), 1U) << speed;
    EXPECT_NEAR(sample_of(found[0]), 11 * kSecond + 99, kRate / 1000.0) << speed;
    EXPECT_NEAR(found[0].speed, speed, 0.0005);
    EXPECT_GT(found[0].score, 0.6);
  }
}

TEST_P(FinderTest, ShortClipsAreComparedWithEverything) {
  for (const double seconds : {0.1, 0.3, 0.9}) {
    Samples short_clip(clip_.begin() + kSecond / 2,
                       clip_.begin() + kSecond / 2 + long(seconds * kSecond));
    Samples episode = episode_;
    plant(episode, clip_, 30 * kSecond + 11);
    const auto found = find(episode, short_clip);
    ASSERT_EQ(found.size(), 1U) << seconds;
    EXPECT_NEAR(sample_of(found[0]), 30.5 * kSecond + 11, 0.5) << seconds;
  }
}

TEST_P(FinderTest, WhatIsNotThereIsNotFound) {
  const Samples other = make_speech(55, 5 * kSecond), tune = make_music(56, 5 * kSecond);
  EXPECT_TRUE(find(episode_, clip_).empty());
  EXPECT_TRUE(find(episode_, other).empty());
  EXPECT_TRUE(find(episode_, tune).empty());
  // A part of the clip alone is not the clip.
  plant(episode_, std::span(clip_).first(clip_.size() / 4), 3 * kSecond);
  EXPECT_TRUE(find(episode_, clip_).empty());
}

// So much of both as lies 10 dB below the clip.
TEST_P(FinderTest, ClipsOfASecondAreFoundUnderTalkAndHiss) {
  const bool music = std::string_view(GetParam()) == "music";
  const Samples whole = music ? make_music(41, 20 * kSecond) : make_speech(41, 20 * kSecond);
  const Samples talk = make_speech(42, whole.size());
  for (std::size_t at = kSecond; at + 2 * kSecond < whole.size(); at += 3 * kSecond + 777) {
    const Samples clip(whole.begin() + long(at), whole.begin() + long(at + kSecond));
    const double above = 10 * std::log10(energy_of(whole) / 20 / energy_of(clip));
    Samples with_talk = whole, with_hiss = whole;
    mix(with_talk, talk, 10 + above);
    add_noise(with_hiss, 10 + above, 43);
    EXPECT_EQ(samples_of(find(whole, clip)), std::vector<long>{long(at)});
    EXPECT_EQ(samples_of(find(with_talk, clip)), std::vector<long>{long(at)}) << above;
    EXPECT_EQ(samples_of(find(with_hiss, clip)), std::vector<long>{long(at)}) << above;
  }
}

INSTANTIATE_TEST_SUITE_P(Sounds, FinderTest, ::testing::Values("speech", "music"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ClipTest, ABellIsFoundUnderTalkAndNoOtherBellIs) {
  const Samples talk = make_speech(5, 20 * kSecond);
  const Samples bell = make_bell(1, kSecond * 11 / 10), other = make_bell(2, bell.size());
  ASSERT_TRUE(clip_of(bell).parts().coarse) << "its words say nothing";
  Samples episode = talk;
  for (const std::size_t at : {3 * kSecond + 11, 15 * kSecond}) {
    Samples played = bell;
    mix(played, std::span(talk).subspan(at), 10);
    plant(episode, played, at);
  }
  EXPECT_EQ(samples_of(find(episode, bell)),
            (std::vector<long>{long(3 * kSecond + 11), long(15 * kSecond)}));
  EXPECT_TRUE(find(episode, other).empty());
}

// Struck again while it sounds.
TEST(ClipTest, ABellThatIsStruckTwiceIsFoundTwice) {
  const Samples bell = make_bell(1, kSecond * 11 / 10);
  Samples episode = make_speech(5, 10 * kSecond);
  plant(episode, Samples(2 * kSecond), 4 * kSecond);
  const std::size_t first = 4 * kSecond + 100, second = first + kSecond / 2 + 33;
  for (const std::size_t at : {first, second}) {
    for (std::size_t i = 0; i < bell.size(); ++i) episode[at + i] += bell[i];
  }
  const std::vector<long> found = samples_of(find(episode, bell));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0], long(first));
  // Where the first still sounds, one tone is like the next: this is as near as it gets.
  EXPECT_NEAR(double(found[1]), double(second), kSecond / 10.0);
}

TEST(ClipTest, OnlyClipsOfSomeSecondsAreComparedWithEverything) {
  EXPECT_TRUE(clip_of(make_speech(1, kSecond / 2)).parts().coarse);
  EXPECT_FALSE(clip_of(make_speech(1, 2 * kSecond)).parts().coarse) << "its words are enough";
  Samples tone(kCoarseSamplesMax + 1);
  for (std::size_t i = 0; i < tone.size(); ++i) tone[i] = 0.3F * std::sin(float(i) * 0.1F);
  EXPECT_FALSE(clip_of(tone).parts().coarse);
  tone.pop_back();
  EXPECT_TRUE(clip_of(tone).parts().coarse);
}

// A bell fades evenly, so its words are alike: here each of a million places may be it.
TEST(ClipTest, TheBestOfVeryManyPlacesAreCandidates) {
  const Clip clip = clip_of(make_bell(1, 2 * kSecond));
  ASSERT_FALSE(clip.parts().probes.empty());
  std::vector<std::uint32_t> words(1'200'000);
  for (const Probe& probe : clip.parts().probes) {
    if (probe.speed != 1) continue;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = probe.words[i % probe.words.size()];
  }
  const auto samples = std::int64_t(words.size()) * 512;
  const Fingerprint episode(samples, std::move(words));
  const auto places = candidates(episode, clip);
  ASSERT_TRUE(places.ok());
  EXPECT_EQ(places->size(), kCandidatesMax);
}

TEST(ClipTest, ALongClipIsFoundByAnyOfItsParts) {
  const Samples clip = make_speech(301, 65 * kSecond);
  Samples episode = make_speech(302, 150 * kSecond);
  plant(episode, clip, 40 * kSecond + 17);
  // Somebody talks over half of it.
  const Samples talk = make_speech(303, 30 * kSecond);
  for (std::size_t i = 0; i < talk.size(); ++i) episode[42 * kSecond + i] += 2 * talk[i];
  const auto found = find(episode, clip);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(sample_of(found[0]), 40 * kSecond + 17, 0.5);
}

TEST(ClipTest, ALongClipIsFollowedThroughItsSpeed) {
  const Samples clip = make_speech(301, 15 * kSecond);
  Samples episode = make_speech(302, 40 * kSecond);
  plant(episode, at_speed(clip, 1.0172), 20 * kSecond);
  const auto found = find(episode, clip);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(sample_of(found[0]), 20 * kSecond, 22);
  EXPECT_NEAR(found[0].speed, 1.0172, 0.0001);
}

TEST(ClipTest, OfVeryManyPlacesTheLimitIsTaken) {
  // A beat of a tenth of a second, for half an hour: 18,000 places of a short clip.
  Samples beat = make_speech(9, kSecond / 10), episode;
  for (int i = 0; i < 10'200; ++i) episode.insert(episode.end(), beat.begin(), beat.end());
  MemorySource source(episode);
  const Clip clip = clip_of(beat);
  const auto found = *confirm(source, clip, std::vector{Candidate{.everywhere = true}});
  EXPECT_EQ(found.size(), kOccurrencesMax);
  // And of a longer one, which fingerprints see everywhere.
  Samples two;
  for (int i = 0; i < 20; ++i) two.insert(two.end(), beat.begin(), beat.end());
  const auto places = *candidates(*make_fingerprint(source, nullptr), clip_of(two));
  EXPECT_LE(places.size(), kCandidatesMax);
  EXPECT_GE(places.size(), kCandidatesMax / 2);
}

Result<Clip> prepared(const Samples& samples) {
  MemorySource source(samples);
  return prepare(source);
}

TEST(ClipTest, B18_SilenceIsAnErrorOfItsOwn) {
  const auto silent = prepared(Samples(3 * kSecond));
  ASSERT_FALSE(silent.ok());
  EXPECT_EQ(silent.error().kind(), Errc::Invalid);
  // A constant is silence, too.
  EXPECT_FALSE(prepared(Samples(3 * kSecond, 0.5F)).ok());
}

TEST(ClipTest, B18_OneSampleNoneAndTooManyAreErrors) {
  for (const std::size_t count : {std::size_t(0), std::size_t(1), kSecond * 49 / 1000}) {
    const auto clip = prepared(make_speech(1, count));
    ASSERT_FALSE(clip.ok()) << count;
    EXPECT_EQ(clip.error().kind(), Errc::Invalid);
  }
  EXPECT_TRUE(prepared(make_speech(1, kSecond * 51 / 1000)).ok());
  constexpr std::size_t kMost = kClipNsMax / 1'000'000'000 * kSecond;
  EXPECT_EQ(prepared(Samples(kMost + 1, 0.5F)).error().kind(), Errc::Invalid);
}

TEST(ClipTest, B18_ALongerClipThanTheEpisodeIsAnErrorAndOthersAreReported) {
  Samples episode = make_speech(4, 6 * kSecond);
  const Samples small = make_speech(5, 2 * kSecond);
  plant(episode, small, kSecond);
  MemorySource source(episode);
  const Fingerprint fingerprint = *make_fingerprint(source, nullptr);
  const Clip longer = clip_of(make_speech(6, 7 * kSecond)), there = clip_of(small);
  EXPECT_EQ(candidates(fingerprint, longer).error().kind(), Errc::Invalid);
  EXPECT_EQ(samples_of(*confirm(source, there, *candidates(fingerprint, there))),
            std::vector<long>{long(kSecond)});
}

TEST(ClipTest, ManyClipsInOnePassAreToldOnceEach) {
  Samples episode = make_speech(4, 60 * kSecond);
  MemorySource source(episode);
  std::vector<Clip> clips;
  for (std::size_t i = 0; i < 8; ++i) {
    // Every other one is not there; two are so short that everything is looked at.
    const std::size_t length = i >= 6 ? kSecond / 2 : 2 * kSecond;
    const Samples clip = make_speech(200 + i, length);
    if (i % 2 == 0) plant(episode, clip, (50 - 6 * i) * kSecond);
    clips.push_back(clip_of(clip));
  }
  const Fingerprint fingerprint = *make_fingerprint(source, nullptr);
  std::vector<Search> searches;
  for (const Clip& clip : clips) searches.push_back({&clip, *candidates(fingerprint, clip)});
  std::vector<int> told(clips.size());
  const auto done = confirm(source, searches, [&](std::size_t which, auto found) -> Result<> {
    ++told[which];
    EXPECT_EQ(found.size(), which % 2 == 0 ? 1U : 0U) << which;
    if (!found.empty()) EXPECT_NEAR(sample_of(found[0]), (50.0 - 6.0 * double(which)) * kSecond, 1);
    return {};
  });
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(told, std::vector<int>(clips.size(), 1));
  const auto stopped = confirm(source, searches, [](std::size_t, auto) -> Result<> {
    return Error(Errc::Canceled, "stop");
  });
  EXPECT_EQ(stopped.error().kind(), Errc::Canceled);
}

TEST(FingerprintTest, IsSmallAndKeepsWhatItIs) {
  const Samples episode = make_music(4, 60 * kSecond);
  MemorySource source(episode);
  Waveform waveform;
  const Fingerprint made = *make_fingerprint(source, &waveform);
  EXPECT_EQ(made.samples(), std::int64_t(episode.size()));
  EXPECT_EQ(made.duration_ns(), 60'000'000'000);
  const std::string bytes = made.encode();
  EXPECT_LT(bytes.size() * 60, 650'000U);  // an hour
  const Fingerprint again = *Fingerprint::decode(bytes);
  EXPECT_EQ(again.samples(), made.samples());
  EXPECT_TRUE(std::equal(again.words().begin(), again.words().end(), made.words().begin(),
                         made.words().end()));
  EXPECT_GT(waveform.points.size(), kWaveformPoints / 2 - 1);
  EXPECT_LE(waveform.points.size(), kWaveformPoints);
}

TEST(FingerprintTest, DamageIsSeen) {
  const Samples episode = make_speech(4, 2 * kSecond);
  MemorySource source(episode);
  const std::string bytes = make_fingerprint(source, nullptr)->encode();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_FALSE(Fingerprint::decode(damaged).ok()) << i;
    EXPECT_FALSE(Fingerprint::decode(bytes.substr(0, i)).ok()) << i;
  }
  EXPECT_FALSE(Fingerprint::decode(bytes + "x").ok());
}

TEST(FingerprintTest, OfNothingIsAnErrorOfVeryLittleIsEmpty) {
  MemorySource nothing{std::span<const float>()};
  EXPECT_EQ(make_fingerprint(nothing, nullptr).error().kind(), Errc::Invalid);
  const Samples little(100, 0.1F);
  MemorySource source(little);
  EXPECT_TRUE(make_fingerprint(source, nullptr)->words().empty());
}

}  // namespace
}  // namespace quern::sound
