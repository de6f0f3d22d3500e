// Episodes and clips from a podcast of this machine, through the command line and HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <set>

#include "e2e/search_fixture.h"
#include "support/feed_site.h"

namespace quern::e2e {
namespace {

namespace json = boost::json;
using support::FeedSite;
using support::Ran;
using testing::HasSubstr;

const support::Environment kHere = {{"QUERN_ALLOW_PRIVATE", "*"},
                                    {"QUERN_STEPS", "none"},
                                    {"QUERN_FREE_MIN", "0"},
                                    {"QUERN_CURATE_GAP", "0"},
                                    {"QUERN_FEED_CHECK", "1"}};

std::string text(const json::value& value, const char* key) {
  const json::value* found = value.as_object().if_contains(key);
  return found == nullptr || !found->is_string() ? "" : std::string(found->get_string());
}

class CurationTest : public testing::Test {
 protected:
  Ran run(std::vector<std::string> arguments) { return folder_.run(std::move(arguments), kHere); }
  json::value run_json(std::vector<std::string> arguments, int code = 0) {
    arguments.emplace_back("--json");
    const Ran ran = run(std::move(arguments));
    EXPECT_TRUE(ran.status.exited_with(code)) << ran.standard_error << ran.standard_output;
    boost::system::error_code failed;
    json::value said = json::parse(ran.standard_output, failed);
    EXPECT_FALSE(failed) << ran.standard_output;
    return failed ? json::value(json::object()) : said;
  }
  std::vector<json::value> list(const std::string& what = "episodes",
                                const std::string& word = "list") {
    const Ran ran = run({what, word, "--json"});
    std::vector<json::value> all;
    std::istringstream lines(ran.standard_output);
    for (std::string line; std::getline(lines, line);) all.push_back(json::parse(line));
    return all;
  }
  // The one of that title; null where there is none, or more than one.
  json::value titled(const std::string& title, const std::string& what = "episodes") {
    json::value found;
    int times = 0;
    for (const json::value& one : list(what)) {
      if (text(one, "title") != title) continue;
      found = one;
      ++times;
    }
    EXPECT_EQ(times, 1) << title;
    return times == 1 ? found : json::value(json::object());
  }
  std::string write(const std::string& name, const std::string& bytes) {
    const std::filesystem::path path = folder_.path().parent_path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << bytes;
    return path.string();
  }
  void expect_clean() {
    const Ran ran = run({"check"});
    EXPECT_TRUE(ran.status.exited_with(0)) << ran.standard_output << ran.standard_error;
  }

  DataFolder folder_;
  FeedSite site_;
};

// Three pages; one enclosure is elsewhere, one is gone, one is a web page, one entry has none.
void put_podcast(FeedSite& site) {
  for (int i = 1; i <= 4; ++i) site.put_sound("/" + std::to_string(i) + ".wav", i);
  support::Fault elsewhere;
  elsewhere.status = 302;
  elsewhere.times = 100;
  elsewhere.headers = {{"Location", "/2.wav"}};
  site.put_sound("/moved.wav", 9);
  site.files().add_fault("/moved.wav", elsewhere);
  site.put_text("/page.wav", "text/html", "<!DOCTYPE html><html>log in</html>");
  site.put_feed({{"g1", "One", "1.wav"}, {"g2", "Two", "moved.wav"}}, "/feed.xml", "feed2.xml");
  site.put_feed({{"g3", "Gone", "gone.wav"}, {"g4", "Words", ""}}, "/feed2.xml", "feed3.xml");
  site.put_feed({{"g5", "Three", "3.wav"}, {"g6", "Wall", "page.wav"}}, "/feed3.xml");
}

TEST_F(CurationTest, AFeedOfSeveralPagesBecomesEpisodes) {
  put_podcast(site_);
  const json::value said = run_json({"episodes", "add", site_.url(), "--priority", "3"}, 1);
  EXPECT_EQ(said.at("sources").as_array().size(), 3U);
  ASSERT_EQ(list().size(), 5U);
  for (const char* title : {"One", "Two", "Three"}) {
    const json::value one = titled(title);
    EXPECT_EQ(text(one, "media"), "ready") << json::serialize(one);
    EXPECT_EQ(one.at("priority"), 3);
    EXPECT_EQ(text(one, "date_aired"), "2020-03-27T01:09:35Z");
    EXPECT_EQ(text(one, "media_type"), "audio/wav");
    EXPECT_TRUE(one.at("file").is_int64());
    EXPECT_EQ(text(one, "sha256").size(), 64U);
    EXPECT_EQ(text(one, "initial_date_curated"), text(one, "last_date_curated"));
  }
  EXPECT_THAT(text(titled("Gone"), "problem"), HasSubstr("not-found"));
  EXPECT_THAT(text(titled("Wall"), "problem"), HasSubstr("not-sound: a web page"));
  EXPECT_EQ(site_.times("/gone.wav"), 1U) << "what is not there is not asked for again";
  // Each sound is a root file of the job.
  const Ran roots = run({"job", "1", "--json"});
  EXPECT_THAT(roots.standard_output, HasSubstr("\"roots\":3"));
  EXPECT_THAT(roots.standard_output, HasSubstr("\"kind\":\"episodes\""));
  const std::vector<json::value> feeds = list("episodes", "feeds");
  ASSERT_EQ(feeds.size(), 1U);
  EXPECT_EQ(text(feeds[0], "title"), "A show");
  expect_clean();
}

TEST_F(CurationTest, AddingAgainChangesNothingButTheLatestDate) {
  put_podcast(site_);
  run({"episodes", "add", site_.url()});
  const json::value before = titled("One");
  run({"episodes", "add", site_.url()});
  const json::value after = titled("One");
  EXPECT_EQ(list().size(), 5U);
  EXPECT_EQ(before.at("id"), after.at("id"));
  EXPECT_EQ(text(before, "initial_date_curated"), text(after, "initial_date_curated"));
  EXPECT_LT(text(before, "last_date_curated"), text(after, "last_date_curated"));
  EXPECT_EQ(site_.times("/1.wav"), 1U) << "what is here is not fetched again";
  EXPECT_EQ(site_.times("/gone.wav"), 2U) << "what could not be had is tried again";
}

TEST_F(CurationTest, IdentitySurvivesANewTitleAndANewAddress) {
  site_.put_sound("/a.wav", 1);
  site_.put_sound("/b.wav", 2);
  site_.put_feed({{"g1", "Old name", "a.wav"}});
  run({"episodes", "add", site_.url()});
  const json::value before = titled("Old name");
  site_.put_feed({{"g1", "New name", "b.wav"}});
  const json::value said = run_json({"episodes", "add", site_.url()});
  ASSERT_EQ(list().size(), 1U);
  const json::value after = titled("New name");
  EXPECT_EQ(before.at("id"), after.at("id"));
  EXPECT_THAT(text(after, "url"), HasSubstr("/b.wav"));
  EXPECT_EQ(text(after, "media"), "ready");
  EXPECT_NE(text(before, "sha256"), text(after, "sha256"));
  expect_clean();
}

TEST_F(CurationTest, FriendlyErrorsSayWhatIsWrong) {
  site_.put_text("/about.html", "text/html", "<html>a page</html>");
  site_.put_feed({{"g", "Words only", ""}}, "/words.xml");
  const Ran page = run({"clips", "add", site_.url("/about.html")});
  EXPECT_TRUE(page.status.exited_with(1));
  EXPECT_THAT(page.standard_output, HasSubstr("not-sound: a web page came instead of sound"));
  const Ran words = run({"episodes", "add", site_.url("/words.xml")});
  EXPECT_TRUE(words.status.exited_with(1));
  EXPECT_THAT(words.standard_output, HasSubstr("no-sound: none of its 1 entries has sound"));
  const Ran gone = run({"episodes", "add", site_.url("/nowhere.xml")});
  EXPECT_THAT(gone.standard_output, HasSubstr("not-found"));
  EXPECT_TRUE(list().empty()) << "none of them is known to be an episode";
  const Ran nothing = run({"episodes", "add", "/no/such/file.mp3"});
  EXPECT_TRUE(nothing.status.exited_with(3) || nothing.status.exited_with(2));
  const Ran set = run({"episodes", "set", "99", "--priority", "1"});
  EXPECT_THAT(set.standard_error, HasSubstr("there is no episode 99"));
}

TEST_F(CurationTest, FilesAndFoldersBecomeClipsByTheirBytes) {
  write("jingles/drop.wav", support::small_wav(1));
  write("jingles/more/bell.wav", support::small_wav(2));
  write("jingles/readme.txt", "what these are");
  const std::string folder = (folder_.path().parent_path() / "jingles").string();
  const Ran added = run({"clips", "add", folder, "--priority", "2"});
  EXPECT_TRUE(added.status.exited_with(0)) << added.standard_error;
  EXPECT_THAT(added.standard_error, HasSubstr("left out jingles/readme.txt: it is text"));
  ASSERT_EQ(list("clips").size(), 2U);
  const json::value drop = titled("drop", "clips");
  EXPECT_EQ(text(drop, "media"), "ready");
  EXPECT_EQ(drop.at("priority"), 2);
  EXPECT_NE(drop.at("number"), titled("bell", "clips").at("number"));
  const json::value again = run_json({"clips", "add", folder + "/drop.wav"});
  EXPECT_EQ(text(again.at("clips").at(0), "change"), "same") << json::serialize(again);
  const json::value renamed =
      run_json({"clips", "add", write("dropped.wav", support::small_wav(1))});
  EXPECT_EQ(text(renamed.at("clips").at(0), "change"), "updated");
  EXPECT_EQ(renamed.at("clips").at(0).at("id"), drop.at("id"));
  EXPECT_EQ(titled("dropped", "clips").at("number"), drop.at("number"));
  EXPECT_TRUE(run({"clips", "set", json::serialize(drop.at("id")), "--priority", "7"})
                  .status.exited_with(0));
  EXPECT_EQ(titled("dropped", "clips").at("priority"), 7);
  EXPECT_TRUE(run({"clips", "remove", json::serialize(drop.at("id"))}).status.exited_with(0));
  EXPECT_EQ(list("clips").size(), 1U);
  expect_clean();
}

// -- with a server --

class ServedCurationTest : public CurationTest {
 protected:
  void serve(const support::Environment& environment = kHere) {
    server_ = folder_.start({"serve", "--listen", "127.0.0.1:0"}, environment);
    const auto line = server_->wait_for_line(support::Output::Standard, "http://");
    CHECK_OK(line);
    url_ = line->substr(line->find("http://"));
    url_ = url_.substr(0, url_.find(' '));
  }
  std::unique_ptr<support::Program> server_;
  std::string url_;
};

TEST_F(ServedCurationTest, AFeedIsLookedAtAgain) {
  site_.put_sound("/1.wav", 1);
  site_.put_sound("/2.wav", 2);
  site_.put_feed({{"g1", "One", "1.wav"}});
  serve();
  run({"episodes", "add", site_.url(), "--priority", "4"});
  ASSERT_EQ(list().size(), 1U);
  run({"episodes", "set", json::serialize(titled("One").at("id")), "--priority", "9"});
  // The same feed is asked for in a way that costs nothing.
  ASSERT_TRUE(eventually([&] {
    for (const support::FaultyRequest& request : site_.files().requests("/feed.xml")) {
      if (request.status == 304) return true;
    }
    return false;
  }));
  EXPECT_EQ(list().size(), 1U);
  site_.put_feed({{"g2", "Two", "2.wav"}, {"g1", "One", "1.wav"}});
  ASSERT_TRUE(eventually([&] { return list().size() == 2; }));
  ASSERT_TRUE(eventually([&] { return text(titled("Two"), "media") == "ready"; }));
  EXPECT_EQ(titled("Two").at("priority"), 4) << "as the feed's";
  EXPECT_EQ(titled("One").at("priority"), 9) << "what a person has set stays";
  EXPECT_EQ(site_.times("/1.wav"), 1U);
  const json::value feed = list("episodes", "feeds").at(0);
  EXPECT_TRUE(
      run({"episodes", "remove-feed", json::serialize(feed.at("feed"))}).status.exited_with(0));
  EXPECT_TRUE(list("episodes", "feeds").empty());
  EXPECT_EQ(list().size(), 2U) << "what it brought stays";
}

// The site is down for a while: what waits for it ends with its job, and comes with the next one.
class CanceledCurationTest : public ServedCurationTest {
 protected:
  // One of three is here, and the site wants to be left alone for an hour.
  void begin() {
    for (int i = 1; i <= 3; ++i) site_.put_sound(fmt::format("/{}.wav", i), std::uint64_t(i));
    support::Fault busy;
    busy.status = 503;
    busy.times = 1;
    busy.headers = {{"Retry-After", "3600"}};
    for (const char* path : {"/2.wav", "/3.wav"}) site_.files().add_fault(path, busy);
    site_.put_feed({{"g1", "One", "1.wav"}, {"g2", "Two", "2.wav"}, {"g3", "Three", "3.wav"}});
    adding_ = folder_.start({"episodes", "add", site_.url()}, kHere);
    ASSERT_TRUE(eventually([&] {
      return site_.times("/2.wav") == 1 && site_.times("/3.wav") == 1 && list().size() == 3 &&
             text(titled("One"), "media") == "ready";
    }));
  }
  void expect_ended() {
    ASSERT_TRUE(eventually([&] {
      return text(titled("Two"), "media") == "failed" && text(titled("Three"), "media") == "failed";
    }));
    EXPECT_THAT(text(titled("Two"), "problem"), HasSubstr("canceled"));
    EXPECT_EQ(text(titled("One"), "media"), "ready") << "what is here stays";
    EXPECT_TRUE(eventually([&] { return text(run_json({"job", "1"}), "state") == "canceled"; }));
    EXPECT_EQ(site_.times("/2.wav"), 1U) << "nobody wants it any more";
  }
  void expect_all_come() {
    run({"episodes", "add", site_.url()});
    ASSERT_EQ(list().size(), 3U);
    for (const char* title : {"One", "Two", "Three"}) {
      EXPECT_EQ(text(titled(title), "media"), "ready") << title;
      EXPECT_EQ(text(titled(title), "problem"), "") << title;
    }
    EXPECT_EQ(site_.times("/1.wav"), 1U);
    expect_clean();
  }
  std::unique_ptr<support::Program> adding_;
};

TEST_F(CanceledCurationTest, EndsAndWhatItLacksComesWhenItIsAskedForAgain) {
  serve();
  ASSERT_NO_FATAL_FAILURE(begin());
  EXPECT_TRUE(run({"cancel", "1"}).status.exited_with(0));
  ASSERT_NO_FATAL_FAILURE(expect_ended());
  const auto ended = adding_->wait();
  ASSERT_TRUE(ended.ok()) << "who waits for the job hears of its end";
  EXPECT_TRUE(ended->exited_with(1));
  expect_all_come();
}

TEST_F(CanceledCurationTest, EndsWhereTheServerDiedBeforeItWokeWhatWaits) {
  support::Environment armed = kHere;
  armed.emplace_back("QUERN_CRASH", "point:curation.woken");
  serve(armed);
  ASSERT_NO_FATAL_FAILURE(begin());
  adding_->kill();
  EXPECT_FALSE(run({"cancel", "1", "--server", url_}).status.exited_with(0));
  ASSERT_TRUE(server_->wait().ok());
  serve();
  ASSERT_NO_FATAL_FAILURE(expect_ended());
  expect_all_come();
}

TEST_F(ServedCurationTest, AJobThatIsDeletedTakesItsEpisodesAlong) {
  put_podcast(site_);
  serve();
  run({"episodes", "add", site_.url()});
  ASSERT_EQ(list().size(), 5U);
  EXPECT_TRUE(run({"delete", "1"}).status.exited_with(0));
  EXPECT_TRUE(list().empty());
}

}  // namespace
}  // namespace quern::e2e
