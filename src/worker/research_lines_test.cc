#include "worker/research_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/kept_files.h"

namespace quern::worker {
namespace {

using Kind = ResearchLine::Kind;

std::vector<ResearchLine> all_of(ResearchLines& lines) {
  std::vector<ResearchLine> all;
  while (auto line = lines.next()) all.push_back(*std::move(line));
  return all;
}

TEST(ResearchLinesTest, WhatIsWrittenIsRead) {
  ResearchLine result{Kind::Result, 1, {{{0, 1.0}, {17, 0.25}}, 5, 6, ""}};
  ResearchLine failed{Kind::Result, 0, {{}, 7, 0, "it is \"silent\"\n"}};
  ResearchLines lines(2);
  const std::string text = line_of({Kind::Begin, 1, {}}) + line_of({Kind::Pass, 0, {}}) +
                           line_of({Kind::NeedsSound, 1, {}}) + line_of(result) + line_of(failed);
  for (const char byte : text) lines.feed({&byte, 1});
  const auto all = all_of(lines);
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0].kind, Kind::Begin);
  EXPECT_EQ(all[0].clip, 1U);
  EXPECT_EQ(all[1].kind, Kind::Pass);
  EXPECT_EQ(all[2].kind, Kind::NeedsSound);
  EXPECT_EQ(all[3].result.found.at(1).offset_ns, 17);
  EXPECT_EQ(all[3].result.found.at(1).score, 0.25);
  EXPECT_EQ(all[3].result.episode_duration_ns, 5);
  EXPECT_EQ(all[4].result.error, "it is \"silent\"\n");
}

TEST(ResearchLinesTest, WhatABrokenBoxWritesIsSkipped) {
  ResearchLines lines(2);
  lines.feed("\n{}\n[]\n{\"begin\":2}\n{\"begin\":-1}\n{\"clip\":0}\n");
  lines.feed("{\"clip\":0,\"offsets_ns\":[1],\"scores\":[]}\n");
  lines.feed("{\"clip\":0,\"offsets_ns\":[-1],\"scores\":[1]}\n");
  lines.feed("{\"clip\":0,\"offsets_ns\":[1],\"scores\":[\"x\"]}\n");
  lines.feed("{\"clip\":0,\"offsets_ns\":[1],\"scores\":[1e999]}\n\xff\n");
  EXPECT_TRUE(all_of(lines).empty());
  lines.feed("{\"begin\":0}\n");
  EXPECT_EQ(all_of(lines).size(), 1U);
}

TEST(ResearchLinesTest, ALineThatIsTooLongIsSkippedAndTheNextOneRead) {
  ResearchLines lines(1);
  const std::string much(1 << 20, 'x');
  for (std::size_t fed = 0; fed <= kResearchLineBytesMax; fed += much.size()) lines.feed(much);
  lines.feed("\n{\"begin\":0}\n");
  EXPECT_EQ(all_of(lines).size(), 1U);
}

TEST(ResearchLinesTest, AnErrorIsCutToItsLimit) {
  ResearchLines lines(1);
  lines.feed(line_of({Kind::Result, 0, {{}, 0, 0, std::string(5000, 'e')}}));
  EXPECT_EQ(all_of(lines).at(0).result.error.size(), kClipErrorBytesMax);
}

TEST(ResearchLinesTest, MoreOccurrencesThanTheServerTakesAreNoResult) {
  ResearchLine many{Kind::Result, 0, {}};
  many.result.found.resize(kFoundMax);
  ResearchLines lines(1);
  lines.feed(line_of(many));
  EXPECT_EQ(all_of(lines).size(), 1U);
  many.result.found.resize(kFoundMax + 1);
  lines.feed(line_of(many));
  EXPECT_TRUE(all_of(lines).empty());
}

TEST(ResearchLinesTest, AFingerprintComesWholeOrNotAtAll) {
  const std::string text = framed({"wave\n", 12, "print\nof it"});
  const auto made = parse_framed(text);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->waveform, "wave\n");
  EXPECT_EQ(made->duration_ns, 12);
  EXPECT_EQ(made->bytes, "print\nof it");
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    EXPECT_FALSE(parse_framed(text.substr(0, cut)).ok()) << cut;
  }
  EXPECT_FALSE(parse_framed(text + "x").ok());
  EXPECT_TRUE(parse_framed(framed({std::string(kWaveformBytesMax, 'w'), 1, ""})).ok());
  EXPECT_FALSE(parse_framed(framed({std::string(kWaveformBytesMax + 1, 'w'), 1, ""})).ok());
}

TEST(ResearchLinesTest, ATaskSaysWhatIsToBeDone) {
  for (const bool sound : {false, true}) {
    const std::string text = research_task_json({ResearchMode::Search, sound});
    const std::string metadata = text.substr(text.find(':') + 1, text.size() - text.find(':') - 2);
    const auto task = parse_research_task(metadata);
    ASSERT_TRUE(task.ok());
    EXPECT_EQ(task->mode, ResearchMode::Search);
    EXPECT_EQ(task->sound, sound);
  }
  EXPECT_FALSE(parse_research_task("{}").ok());
}

TEST(ResearchItemTest, WhatIsMissingIsAnError) {
  const std::string good =
      R"({"lease_id":"a","lease_ms":1000,"algorithm":1,"fingerprint_version":1,)"
      R"("episode":{"id":1,"url":"http://h:1/research/media/1?x=1","sha256":"s","bytes":5,)"
      R"("fingerprint":"http://h:1/f/1"},)"
      R"("clips":[{"id":2,"number":3,"url":"http://h:1/m/2","sha256":"t","bytes":6}]})";
  const auto item = parse_research_item(good);
  ASSERT_TRUE(item.ok()) << item.error().message();
  EXPECT_EQ(item->episode.target, "/research/media/1?x=1");
  EXPECT_EQ(item->fingerprint, "/f/1");
  EXPECT_EQ(item->clips.at(0).number, 3);
  for (const std::string key : {"lease_id", "lease_ms", "algorithm", "fingerprint_version",
                                "episode", "clips", "sha256", "bytes", "url"}) {
    std::string bad = good;
    bad.replace(bad.find("\"" + key + "\""), 2, "\"_");
    EXPECT_FALSE(parse_research_item(bad).ok()) << key;
  }
  EXPECT_FALSE(parse_research_item("[]").ok());
}

TEST(KeptFilesTest, TheLeastRecentlyUsedGoesFirst) {
  KeptFiles kept({.bytes_max = 100, .files_max = 3});
  const auto file = [] { return std::make_shared<const io::Descriptor>(); };
  kept.keep("a", file(), 40);
  kept.keep("b", file(), 40);
  EXPECT_NE(kept.find("a"), nullptr);
  kept.keep("c", file(), 40);
  EXPECT_EQ(kept.find("b"), nullptr);
  EXPECT_NE(kept.find("a"), nullptr);
  EXPECT_EQ(kept.bytes(), 80U);
  kept.keep("d", file(), 1);
  kept.keep("e", file(), 1);
  EXPECT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept.find("c"), nullptr);
}

TEST(KeptFilesTest, OneThatIsLargerThanTheRoomIsNotKept) {
  KeptFiles kept({.bytes_max = 100, .files_max = 3});
  kept.keep("a", std::make_shared<const io::Descriptor>(), 100);
  kept.keep("b", std::make_shared<const io::Descriptor>(), 101);
  EXPECT_NE(kept.find("a"), nullptr);
  EXPECT_EQ(kept.find("b"), nullptr);
}

}  // namespace
}  // namespace quern::worker
