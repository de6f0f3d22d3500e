// Research as users meet it: the real programs on real sound, through the command line.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>
#include <sstream>

#include "e2e/quern.h"
#include "support/sound_scene.h"

namespace quern::e2e {
namespace {

namespace json = boost::json;
using support::Planted;
using support::Ran;
using testing::HasSubstr;

// Commands that take in or list do no research on the way, so that a test knows when it is done.
support::Environment environment_of(const std::string& command) {
  return {{"QUERN_FREE_MIN", "0"},
          {"QUERN_STEPS", "none"},
          {"QUERN_LOCAL_RESEARCH", command == "research" ? "1" : "0"}};
}

std::string stem_of(const json::value& title) {
  return std::filesystem::path(std::string(title.as_string())).stem().string();
}

class ResearchTest : public testing::Test {
 protected:
  Ran run(std::vector<std::string> arguments, int code = 0) {
    const support::Environment environment = environment_of(arguments.at(0));
    Ran ran = folder_.run(std::move(arguments), environment);
    EXPECT_TRUE(ran.status.exited_with(code)) << ran.standard_error << ran.standard_output;
    return ran;
  }
  std::vector<json::value> lines(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    std::istringstream text(run(std::move(arguments)).standard_output);
    std::vector<json::value> all;
    for (std::string line; std::getline(text, line);) all.push_back(json::parse(line));
    return all;
  }
  json::object status() { return lines({"research"}).at(0).as_object(); }

  // Every pair has its word, and it is the right one.
  void expect_planted(const std::vector<json::value>& findings, const Planted& planted) {
    Planted found;
    std::set<std::pair<std::string, std::string>> pairs;
    for (const json::value& line : findings) {
      const std::pair pair(stem_of(line.at("episode_title")), stem_of(line.at("clip_title")));
      EXPECT_FALSE(line.as_object().contains("error")) << json::serialize(line);
      pairs.insert(pair);
      if (!line.at("found").as_bool()) continue;
      const double at = line.at("offset_seconds").to_number<double>() * sound::kRate;
      found[pair].push_back(static_cast<std::size_t>(std::lround(at)));
      EXPECT_GT(line.at("score").to_number<double>(), 0.9) << json::serialize(line);
    }
    EXPECT_EQ(found, planted);
    EXPECT_EQ(pairs.size(), 24U);
  }

  DataFolder folder_;
  support::TempFolder sounds_;
};

TEST_F(ResearchTest, AUserFindsEveryClipInEveryEpisodeAndASecondRunDoesNothing) {
  const support::SoundScene scene = support::make_sound_scene(sounds_.path());
  run({"episodes", "add", scene.episodes.string()});
  run({"clips", "add", scene.clips.string()});
  const Ran waited = run({"research", "--wait"});
  EXPECT_THAT(waited.standard_output, HasSubstr("24 results, 6 found, 0 failed"));
  EXPECT_THAT(waited.standard_output, HasSubstr("every clip was looked for in every episode"));
  const std::vector<json::value> first = lines({"findings"});
  expect_planted(first, scene.planted);
  EXPECT_THAT(run({"findings"}).standard_output, HasSubstr("0:00:12.500"));

  run({"research", "--wait"});
  EXPECT_EQ(lines({"findings"}), first);

  // One more clip: four pairs more, and no other is looked at again.
  support::write_wav(sounds_.path() / "more" / "clip-6.wav", support::scene_clip(6));
  run({"clips", "add", (sounds_.path() / "more").string()});
  EXPECT_EQ(status().at("results").as_int64(), 24);
  run({"research", "--wait"});
  EXPECT_EQ(status().at("results").as_int64(), 28);
  std::size_t known = 0;
  for (const json::value& line : lines({"findings"})) {
    known += static_cast<std::size_t>(std::count(first.begin(), first.end(), line));
  }
  EXPECT_EQ(known, first.size());
  const Ran checked = run({"check"});
  EXPECT_TRUE(checked.status.exited_with(0)) << checked.standard_output;
}

TEST_F(ResearchTest, AServerStartsAResearcherByItselfAndOthersMayHelp) {
  const support::SoundScene scene = support::make_sound_scene(sounds_.path());
  std::string address;
  auto server = folder_.serve(&address);
  support::ProgramOptions options{
      "quern-steps", {"--server", address, "--research", "--worker", "elsewhere"}, {}, {}};
  auto helper = support::Program::start(options);
  CHECK_OK(helper);
  run({"episodes", "add", scene.episodes.string()});
  run({"clips", "add", scene.clips.string()});
  run({"research", "--wait"});
  expect_planted(lines({"findings"}), scene.planted);
  // Asked to stop, it gives back what it has, and ends well.
  CHECK_OK((*helper)->signal(SIGTERM));
  const auto ended = (*helper)->wait();
  ASSERT_TRUE(ended.ok());
  EXPECT_TRUE(ended->exited_with(0)) << (*helper)->text(support::Output::Error);
}

TEST_F(ResearchTest, AClipThatCannotBeReadFailsAloneAndSaysWhy) {
  const support::SoundScene scene = support::make_sound_scene(sounds_.path());
  support::write_wav(scene.clips / "silence.wav", sound::Samples(sound::kRate * 2));
  run({"episodes", "add", (scene.episodes / "episode-0.wav").string()});
  run({"clips", "add", (scene.clips / "silence.wav").string(),
       (scene.clips / "clip-0.wav").string()});
  const Ran waited = run({"research", "--wait"});
  EXPECT_THAT(waited.standard_output, HasSubstr("2 results, 1 found, 1 failed"));
  EXPECT_THAT(waited.standard_output, HasSubstr("quern research --retry"));
  EXPECT_THAT(run({"findings", "--all"}).standard_output, HasSubstr("failed"));
}

TEST_F(ResearchTest, ItIsSaidThatNoResearcherIsThere) {
  const support::SoundScene scene = support::make_sound_scene(sounds_.path());
  run({"episodes", "add", (scene.episodes / "episode-0.wav").string()});
  run({"clips", "add", (scene.clips / "clip-0.wav").string()});
  EXPECT_THAT(run({"research"}).standard_output, HasSubstr("1 episode and 1 clip"));
  EXPECT_THAT(run({"research"}).standard_output, HasSubstr("no researcher"));
}

}  // namespace
}  // namespace quern::e2e
