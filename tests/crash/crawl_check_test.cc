// Goal: `quern check` names what is wrong with crawls and their archive, and a server whose archive
// is damaged still serves. Method: a crawl that went well is damaged by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "crash/crawl_scene.h"
#include "store/database.h"
#include "support/postgres.h"

namespace quern::crash {
namespace {

using support::Program;
using support::ProgramOptions;
using testing::HasSubstr;

enum class Store { Sqlite, Postgres };

std::string name_of(const testing::TestParamInfo<Store>& info) {
  return info.param == Store::Sqlite ? "Sqlite" : "Postgres";
}

Result<std::shared_ptr<Program>> start_calmly(const ProgramOptions& options) {
  TRY_ASSIGN(std::shared_ptr<Program> program, Program::start(options));
  return program;
}

class CrawlCheckTest : public testing::TestWithParam<Store> {
 protected:
  void SetUp() override {
    if (GetParam() == Store::Postgres) database_ = support::Postgres::shared().create_database();
    scene_ = std::make_unique<CrawlScene>(folder_.path(), start_calmly, database_);
    scene_->set_site(1);
    const Result<> crawled = scene_->crawl(1);
    ASSERT_TRUE(crawled.ok()) << crawled.error().message();
  }
  // What it says, whether all is well or not.
  std::string check() const {
    const ProgramOptions options{"quern", {"check", "--json"}, scene_->environment(), {}};
    const Result<support::Ran> ran = support::run_program(options);
    return ran.ok() ? ran->standard_output + ran->standard_error : ran.error().message();
  }
  void damage(const std::string& sql) const {
    const std::string file = "sqlite:" + (folder_ / "data" / "quern.db").string();
    const auto url = store::DatabaseUrl::parse(database_.empty() ? file : database_);
    ASSERT_TRUE(url.ok()) << url.error().message();
    const auto database = store::Database::open(*url, {});
    ASSERT_TRUE(database.ok()) << database.error().message();
    const auto session = (*database)->connect_writer();
    ASSERT_TRUE(session.ok()) << session.error().message();
    const Result<> done = (*session)->script(sql);
    ASSERT_TRUE(done.ok()) << done.error().message();
  }
  std::filesystem::path archive() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "data" / "warcs")) {
      return entry.path();
    }
    return {};
  }

  support::TempFolder folder_;
  std::string database_;
  std::unique_ptr<CrawlScene> scene_;
};

TEST_P(CrawlCheckTest, PagesThatContradictTheirCrawlAreNamed) {
  ASSERT_THAT(check(), HasSubstr(R"("clean":true)"));
  damage("UPDATE page SET file = NULL WHERE url = 'http://plain.test/s0/p1'");
  damage("UPDATE page SET state = 1 WHERE url = 'http://plain.test/s0/p2'");
  const std::string told = check();
  EXPECT_THAT(told, HasSubstr("http://plain.test/s0/p1 is in, but has no file"));
  EXPECT_THAT(told, HasSubstr("http://plain.test/s0/p2 waits for its fetch, but nobody would"));
  EXPECT_THAT(told, HasSubstr("plain.test: 0 open pages are noted, 1 are there"));
}

TEST_P(CrawlCheckTest, AnArchiveThatLacksWhatIsKnownIsNamed) {
  const std::filesystem::path file = archive();
  const auto bytes = std::filesystem::file_size(file);
  Result<WarcFolder> warcs = read_warcs(file.parent_path());
  ASSERT_TRUE(warcs.ok());
  EXPECT_EQ(warcs->faults, "");
  {
    // In the last record, which is a request, and before it in the answer.
    std::fstream opened(file, std::ios::in | std::ios::out | std::ios::binary);
    opened.seekp(static_cast<std::streamoff>(bytes) - 700);
    opened.write("\0\0\0\0", 4);
  }
  EXPECT_THAT(check(), HasSubstr(R"("clean":false)"));
  std::filesystem::resize_file(file, bytes - 10);
  EXPECT_THAT(check(), HasSubstr("but a capture ends at"));
  warcs = read_warcs(file.parent_path());
  ASSERT_TRUE(warcs.ok());
  EXPECT_NE(warcs->faults, "") << "the sweep would not see half a record";
  std::filesystem::remove(file);
  EXPECT_THAT(check(), HasSubstr("it is gone, but captures name it"));
}

INSTANTIATE_TEST_SUITE_P(Stores, CrawlCheckTest, testing::Values(Store::Sqlite, Store::Postgres),
                         name_of);

}  // namespace
}  // namespace quern::crash
