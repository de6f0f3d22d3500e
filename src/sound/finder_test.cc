// The finder on made sounds: rows B16 and B18, the changes it bears, what it must not find.
#include "sound/finder.h"

#include <gtest/gtest.h>

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

INSTANTIATE_TEST_SUITE_P(Sounds, FinderTest, ::testing::Values("speech", "music"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace quern::sound
