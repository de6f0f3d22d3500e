// Each rule of the check of datasets: what is kept in order has no problem, and what breaks the
// rule is named.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>

#include "conformance/fileset_site.h"
#include "fileset/check.h"
#include "fileset/outbox.h"

namespace quern::fileset {
namespace {

using store::Sql;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class FilesetCheckTest : public FilesetSiteTest {
 protected:
  // A dataset of two files that is kept, and entered its collection.
  void SetUp() override {
    FilesetSiteTest::SetUp();
    RequestOptions options;
    options.ingest = true;
    job_ = begin(order_of(site_.url(), options)).id;
    ASSERT_EQ(finish(job_).row.status, "success");
    const std::filesystem::path folder = parts() / fmt::format("{}", job_);
    ASSERT_TRUE(queue::eventually([&] { return !std::filesystem::exists(folder); }));
    ASSERT_THAT(problems(), IsEmpty());
  }
  std::filesystem::path parts() { return folder_ / "datasets"; }
  std::vector<std::string> problems() {
    Result<std::vector<std::string>> found = check_filesets(*readers_, parts());
    CHECK_OK(found);
    return *std::move(found);
  }
  template <class... Values>
  void change(const Sql& sql, const Values&... values) {
    CHECK_OK(
        writer_->run(store::LaneKey{}, [&](store::Tx& tx) { return tx.exec(sql, values...); }));
  }
  void expect(const std::string& problem) {
    EXPECT_THAT(problems(),
                Contains(AllOf(HasSubstr(fmt::format("dataset {}", job_)), HasSubstr(problem))));
  }

  support::DatasetSite site_{{100'000, 10}};
  tree::JobId job_;
};

TEST_P(FilesetCheckTest, AResultHasTheStatusOfItsRow) {
  static constexpr Sql kBreak{"UPDATE fileset_request SET status = 'mismatch'"};
  change(kBreak);
  expect("its result has another status than its row");
}

TEST_P(FilesetCheckTest, ASuccessHasAllItsFiles) {
  static constexpr Sql kBreak{"DELETE FROM fileset_file"};
  change(kBreak);
  expect("it is success, but only 0 of its 0 files are kept");
}

TEST_P(FilesetCheckTest, ASuccessHasNoFileThatFailed) {
  static constexpr Sql kBreak{"UPDATE fileset_file SET status = 'mismatch' WHERE number = 1"};
  change(kBreak);
  expect("only 1 of its 2 files are kept");
  expect("is mismatch, but its manifest says success");
}

TEST_P(FilesetCheckTest, AnEndedRequestHasNoOpenFile) {
  static constexpr Sql kBreak{"UPDATE fileset_file SET ended = (1 = 0) WHERE number = 1"};
  change(kBreak);
  expect("it has ended, but f1.bin has not");
}

TEST_P(FilesetCheckTest, AFileIsTheBlobThatItsRowDescribes) {
  static constexpr Sql kBreak{
      "UPDATE fileset_file SET blob = (SELECT blob FROM fileset_file WHERE number = 1)"
      " WHERE number = 0"};
  change(kBreak);
  expect("f0.bin: its blob has another SHA-256 than its row");
  expect("f0.bin: its blob has another size than its row");
}

TEST_P(FilesetCheckTest, AFileThatIsKeptIsSomewhere) {
  static constexpr Sql kBreak{
      "UPDATE fileset_file SET blob = NULL, capture = NULL WHERE number = 0"};
  change(kBreak);
  expect("f0.bin: it is kept, but neither a blob nor a capture has it");
  expect("1 of its files are kept here, but 2 entered the collection");
}

TEST_P(FilesetCheckTest, AMemberHasItsBundle) {
  static constexpr Sql kBundled{"UPDATE fileset_request SET strategy = 'web-fileset-bundled'"};
  static constexpr Sql kBreak{"UPDATE fileset_file SET blob = NULL WHERE number = 0"};
  change(kBundled);
  change(kBreak);
  expect("f0.bin: it is kept, but the bundle that it lies in is not");
}

TEST_P(FilesetCheckTest, ACaptureIsNotedAndOfTheSameBytes) {
  static constexpr Sql kSpoil{"UPDATE capture SET digest = 'sha1:ELSE'"};
  static constexpr Sql kBreak{"DELETE FROM capture"};
  change(kSpoil);
  expect("f0.bin: its capture in dataset-");
  expect("is of other bytes");
  change(kBreak);
  expect("is not noted");
}

TEST_P(FilesetCheckTest, TheTablesThatOthersReadAreComplete) {
  static constexpr Sql kResult{"DELETE FROM ingest_file_result"};
  static constexpr Sql kMeta{"UPDATE file_meta SET size_bytes = size_bytes + 1"};
  static constexpr Sql kNoMeta{"DELETE FROM file_meta"};
  static constexpr Sql kCdx{"DELETE FROM cdx"};
  static constexpr Sql kTopic{"DELETE FROM topic_message"};
  change(kResult);
  expect("ingest_file_result has no row of it");
  change(kMeta);
  expect("file_meta has another size of its page");
  change(kNoMeta);
  expect("file_meta has no row of its page");
  change(kCdx);
  expect("cdx has no row of its page's capture");
  change(kTopic);
  expect("its result is in no topic");
}

TEST_P(FilesetCheckTest, AnOpenRequestHasItsPartitionAndJob) {
  static constexpr Sql kOpen{
      "UPDATE fileset_request SET state = 2, result = NULL, ended_us = NULL"};
  static constexpr Sql kPartition{"UPDATE partition SET name = 'else' WHERE name = $1"};
  static constexpr Sql kUnsealed{"UPDATE job SET sealed = (1 = 0)"};
  change(kUnsealed);
  expect("it has ended, but its job is not sealed");
  change(kOpen);
  change(kPartition, partition_name(job_));
  expect("it is open, but nobody would ever work on it");
  static constexpr Sql kJob{"UPDATE fileset_request SET job = job + 1000"};
  change(kJob);
  EXPECT_THAT(problems(), Contains(HasSubstr("its job is gone")));
  EXPECT_THAT(problems(), Contains(HasSubstr("it has files, but there is no request")));
}

TEST_P(FilesetCheckTest, PartFilesAreOfSomebodyWhoNeedsThem) {
  const std::filesystem::path folder = parts() / fmt::format("{}", job_);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "1.part") << "x";
  EXPECT_THAT(problems(), IsEmpty()) << "it may be on its way out";
  static constexpr Sql kAge{"UPDATE fileset_request SET ended_us = ended_us - $1"};
  change(kAge, kPartsGoUs + 1);
  expect("it has ended, but 1 part files of it are left, as 1.part");
  static constexpr Sql kCanceled{"UPDATE fileset_file SET status = 'canceled', manifest = $1"};
  change(kCanceled, std::string(R"({"path":"f0.bin","status":"canceled"})"));
  EXPECT_THAT(problems(), testing::Not(Contains(HasSubstr("part files")))) << "for a retry";
  std::filesystem::rename(folder, parts() / "4711");
  EXPECT_THAT(problems(), Contains("dataset 4711: it is gone, but 1 part files of it are left,"
                                   " as 1.part"));
}

INSTANTIATE_TEST_SUITE_P(Stores, FilesetCheckTest,
                         testing::Values(store::StoreKind::Sqlite, store::StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::fileset
