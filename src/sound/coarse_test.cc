// The lower rates, and that nothing is left out of what is found at them.
#include "sound/coarse.h"

#include <gtest/gtest.h>

#include "sound/correlate.h"
#include "sound/made_sound.h"

namespace quern::sound {
namespace {

constexpr Range kEverywhere{INT32_MIN, INT32_MAX};

Samples tone(double hz, std::size_t count) {
  Samples samples(count);
  for (std::size_t i = 0; i < count; ++i) {
    samples[i] = static_cast<float>(0.5 * std::sin(2 * M_PI * hz * double(i) / kRate));
  }
  return samples;
}

TEST(HalveTest, KeepsWhatIsLowAndDropsWhatIsHigh) {
  const Samples low = tone(1'000, 4'001), high = tone(9'000, 4'000);
  const Samples kept = halve(low);
  ASSERT_EQ(kept.size(), 2'001U);
  for (std::size_t i = 20; i + 20 < kept.size(); ++i) ASSERT_NEAR(kept[i], low[2 * i], 0.002) << i;
  const Samples dropped = halve(high);
  ASSERT_EQ(dropped.size(), 2'000U);
  for (std::size_t i = 20; i + 20 < dropped.size(); ++i) ASSERT_NEAR(dropped[i], 0, 0.01) << i;
}

TEST(HalveTest, OfNothingIsNothing) {
  EXPECT_TRUE(halve({}).empty());
  EXPECT_EQ(halve(Samples(1, 1.0F)).size(), 1U);
}

TEST(CoarseTest, TheRateIsAsLowAsTheSoundAllows) {
  const std::size_t second = kRate;
  EXPECT_EQ(make_coarse(tone(300, second), 0.8).halvings, 3);
  EXPECT_EQ(make_coarse(tone(9'000, second), 0.8).halvings, 0);
  EXPECT_EQ(make_coarse(tone(9'000, second), 0.8).samples.size(), second);
  // What is left of so few samples would say nothing.
  EXPECT_LT(make_coarse(tone(300, 600), 0.9).halvings, 3);
}

// Wherever the clip correlates by its least score with the sound itself, a range has the place.
TEST(CoarseTest, NothingIsLeftOut) {
  Correlator correlator;
  CoarseScanner scanner;
  int places = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Samples clips[] = {make_bell(seed, 20'000), make_music(seed, 15'000),
                             make_speech(seed, 9'000), make_speech(seed + 50, 1'500)};
    Samples episode = make_speech(seed + 90, 150'000);
    std::size_t at = 0;
    for (const Samples& clip : clips) {
      Samples played = clip;
      mix(played, std::span(episode).subspan(at), 3 + double(seed % 5));
      plant(episode, played, at += 11 + seed);
      at += clip.size() + 12'347;
    }
    scanner.load(episode);
    for (Samples clip : clips) {
      const Template shape = make_template(clip);
      const CoarseClip coarse = make_coarse(clip, 0.8);
      const std::vector<Range> ranges = scanner.find(coarse, kRate, kEverywhere);
      const std::vector<float> scores = correlator.scores(episode, shape);
      for (std::size_t i = 0; i < scores.size(); ++i) {
        if (std::fabs(scores[i]) < 0.8F) continue;
        ++places;
        const auto place = static_cast<std::int64_t>(i);
        EXPECT_TRUE(std::any_of(
            ranges.begin(), ranges.end(),
            [&](const Range& range) { return range.first <= place && place <= range.last; }))
            << seed << " at " << place << " halvings " << coarse.halvings;
      }
    }
  }
  EXPECT_GT(places, 40);
}

TEST(CoarseTest, WhereNobodyAsksMuchIsLeftOut) {
  const Samples clip = make_bell(3, 20'000);
  Samples episode = make_speech(4, 1'500'000);
  const std::int64_t planted[] = {11, 400'000, 700'001, 1'480'000};
  for (const std::int64_t at : planted) plant(episode, clip, std::size_t(at));
  CoarseScanner scanner;
  scanner.load(episode);
  const CoarseClip coarse = make_coarse(clip, 0.8);
  const auto has = [](const std::vector<Range>& ranges, std::int64_t place) {
    return std::any_of(ranges.begin(), ranges.end(), [place](const Range& range) {
      return range.first <= place && place <= range.last;
    });
  };
  for (const std::int64_t at : planted)
    EXPECT_TRUE(has(scanner.find(coarse, 0, {at, at}), at)) << at;
  const std::vector<Range> some = scanner.find(coarse, 0, {300'000, 450'000});
  EXPECT_TRUE(has(some, 400'000));
  EXPECT_FALSE(has(some, 1'480'000)) << "nobody has looked there";
}

TEST(CoarseTest, WhereNothingIsHeardNothingIsFound) {
  CoarseScanner scanner;
  const CoarseClip clip = make_coarse(make_bell(1, 20'000), 0.8);
  for (const std::size_t count : {0UL, 1UL, 100UL, 300'000UL}) {
    scanner.load(Samples(count));
    EXPECT_TRUE(scanner.find(clip, kRate, kEverywhere).empty()) << count;
  }
}

}  // namespace
}  // namespace quern::sound
