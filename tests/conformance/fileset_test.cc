// Datasets, on every store: from a request to its result, what is stored of it, and what is done
// again.
#include <gmock/gmock.h>
#include <zlib.h>

#include "conformance/fileset_fixture.h"
#include "fileset/outbox.h"
#include "tree/file.h"
#include "web/wacz_zip.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::string text(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  return value == nullptr || !value->is_string() ? "" : std::string(value->get_string());
}

std::vector<std::string> statuses(const json::object& result) {
  std::vector<std::string> all;
  for (const json::value& file : result.at("manifest").as_array()) {
    all.push_back(text(file.as_object(), "status"));
  }
  return all;
}

std::string zip_of(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string bytes;
  auto sink = [&bytes](std::string_view more) -> Result<> {
    bytes += more;
    return {};
  };
  web::ZipWriter writer(sink, 0);
  for (const auto& [name, body] : files) {
    const auto* data = reinterpret_cast<const Bytef*>(body.data());
    const auto crc = static_cast<std::uint32_t>(::crc32_z(0, data, body.size()));
    CHECK_OK(writer.begin({name, static_cast<std::int64_t>(body.size()), crc}));
    CHECK_OK(writer.add(body));
  }
  CHECK_OK(writer.finish());
  return bytes;
}

constexpr store::Sql kResults{"SELECT count(*) FROM ingest_file_result WHERE hit"};
constexpr store::Sql kPlatformRows{
    "SELECT count(*) FROM ingest_fileset_platform WHERE platform_name = 'scripted' AND hit"};
constexpr store::Sql kRequests{"SELECT count(*) FROM ingest_request"};
constexpr store::Sql kCdx{"SELECT count(*) FROM cdx"};
constexpr store::Sql kMeta{"SELECT count(*) FROM file_meta"};
constexpr store::Sql kFiles{"SELECT count(*) FROM fileset_file"};
constexpr store::Sql kMessages{"SELECT count(*) FROM topic_message"};
constexpr store::Sql kRoots{"SELECT count(*) FROM file WHERE parent IS NULL"};

TEST_P(FilesetTest, SeveralFilesBecomeAFileset) {
  add_file("a.csv", "hello,world\n");
  add_file("deep/tree/b.csv", "1\n");
  add_file("empty.txt", "");
  const json::object result = run();
  EXPECT_EQ(text(result, "status"), "success");
  EXPECT_TRUE(result.at("hit").as_bool());
  EXPECT_EQ(text(result, "ingest_strategy"), "web-fileset");
  EXPECT_THAT(statuses(result), ElementsAre("success", "success", "success"));
  EXPECT_EQ(result.at("file_count").as_int64(), 3);
  EXPECT_EQ(result.at("total_size").as_int64(), 14);
  const json::object& first = result.at("manifest").as_array()[0].as_object();
  EXPECT_EQ(text(first, "sha256"), sha256_hex("hello,world\n"));
  EXPECT_EQ(text(first, "terminal_dt"), "20260101000000");
  EXPECT_EQ(count(kResults), 1);
  EXPECT_EQ(count(kPlatformRows), 1);
  EXPECT_EQ(count(kCdx), 1);
  EXPECT_EQ(count(kMeta), 1);
  EXPECT_EQ(count(kMessages), 1);
  EXPECT_EQ(count(kRequests), 0) << "it has no source";
}

TEST_P(FilesetTest, TheBytesOfEveryFileAreABlob) {
  add_file("a.csv", "hello,world\n");
  add_file("b.csv", "1\n");
  const Shown shown = finish(begin(order_of()).id);
  ASSERT_THAT(shown.files, SizeIs(2));
  for (const FileRow& file : shown.files) {
    ASSERT_TRUE(file.blob);
    const auto blob = readers_->run(
        [&](store::Tx& tx) { return blob::load_blob(tx, *file.blob, blob::Data::With); });
    ASSERT_TRUE(blob.ok());
    EXPECT_EQ(sha256_hex(blob->data), file.file.sha256);
  }
  EXPECT_TRUE(shown.job.sealed);
  EXPECT_TRUE(
      queue::eventually([&] { return std::filesystem::is_empty(folder_.path() / "datasets"); }));
}

TEST_P(FilesetTest, ASingleFileIsAlsoToldOfAsAFile) {
  add_file("a.csv", "hello,world\n");
  DatasetOrder order = order_of();
  json::object request = order.request.raw;
  request["link_source"] = "doi";
  request["link_source_id"] = "10.1234/a";
  request["ext_ids"] = json::object{{"doi", "10.1234/a"}};
  order.request = *parse_request(request);
  const json::object result = result_of(begin(std::move(order)).id);
  EXPECT_EQ(text(result, "status"), "success-file");
  const json::object& file = result.at("fileset_file").as_object();
  EXPECT_EQ(text(file.at("file_meta").as_object(), "sha1hex"), sha1_hex("hello,world\n"));
  EXPECT_EQ(count(kResults), 2);
  EXPECT_EQ(count(kRequests), 1);
  const auto messages = readers_->run([](store::Tx& tx) {
    return list_messages(tx, "sandcrawler-dev.ingest-file-results", 0, -1, 10);
  });
  ASSERT_TRUE(messages.ok());
  ASSERT_THAT(*messages, SizeIs(1));
  const json::object told = json::parse(messages->front().body).as_object();
  EXPECT_EQ(text(told.at("request").as_object(), "ingest_type"), "dataset-file");
  EXPECT_EQ(text(told, "status"), "success");
  EXPECT_EQ(text(told.at("terminal").as_object(), "terminal_sha1hex"), sha1_hex("hello,world\n"));
}

TEST_P(FilesetTest, TheFirstFileThatFailsDecides) {
  add_file("a.csv", "hello,world\n");
  add_file("b.csv", "1\n").md5 = md5_hex("2\n");
  add_file("../c.csv", "3\n");
  add_file("d.csv", "4\n").platform_url = "https://data.test/files/gone";
  const json::object result = run();
  EXPECT_EQ(text(result, "status"), "mismatch-md5");
  EXPECT_FALSE(result.at("hit").as_bool());
  EXPECT_THAT(statuses(result),
              ElementsAre("success", "mismatch-md5", "unsafe-path", "error-platform-download"));
  EXPECT_EQ(count(kResults), 0);
}

TEST_P(FilesetTest, WhatIsNoDatasetIsToldByItsStatus) {
  const auto status = [this](const std::string& url) {
    return text(result_of(begin(order_of(url)).id), "status");
  };
  EXPECT_EQ(status("https://data.test/nothing"), "no-capture");
  web_->pages["https://other.test/"] = page_of("https://other.test/", "<html></html>");
  EXPECT_EQ(status("https://other.test/"), "no-platform-match");
  EXPECT_EQ(status(kPageUrl), "empty-manifest");
  answer_->status = "platform-restricted";
  answer_->message = "embargo until 2030";
  const json::object result = result_of(begin(order_of(std::string(kPageUrl) + "#x")).id);
  EXPECT_EQ(text(result, "status"), "no-capture");
}

TEST_P(FilesetTest, LimitsAreNamed) {
  add_file("a.csv", "hello,world\n");
  add_file("b.csv", "1\n");
  RequestOptions few;
  few.files_max = 1;
  EXPECT_EQ(text(run(few), "status"), "too-many-files");
  RequestOptions small;
  small.bytes_max = 13;
  const json::object result = run(small);
  EXPECT_EQ(text(result, "status"), "too-large-size");
  EXPECT_EQ(result.at("file_count").as_int64(), 2);
  EXPECT_FALSE(result.contains("ingest_strategy"));
}

TEST_P(FilesetTest, ItemsOfArchiveOrgAreFilledOnce) {
  add_file("a.csv", "hello,world\n");
  add_file("b.csv", "1\n");
  RequestOptions options;
  options.strategy = "archiveorg-fileset";
  const json::object first = run(options);
  EXPECT_EQ(text(first, "status"), "success");
  EXPECT_THAT(items_->uploads, testing::UnorderedElementsAre("a.csv", "b.csv"));
  options.ingest = true;  // another request
  const json::object second = run(options);
  EXPECT_EQ(text(second, "status"), "success-existing");
  EXPECT_THAT(statuses(second), ElementsAre("exists", "exists"));
  EXPECT_THAT(items_->uploads, SizeIs(2));
}

TEST_P(FilesetTest, WithoutAnAccountNothingIsUploaded) {
  has_account_ = false;
  add_file("a.csv", "hello,world\n");
  RequestOptions options;
  options.strategy = "archiveorg-file";
  EXPECT_EQ(text(run(options), "status"), "no-strategy-helper");
}

TEST_P(FilesetTest, ABundleIsOneDownloadAndItsFilesAreVerified) {
  add_file("a.csv", "hello,world\n");
  add_file("deep/b.csv", "1\n");
  answer_->item.web_bundle_url = "https://data.test/all.zip";
  const std::string zip = zip_of({{"a.csv", "hello,world\n"}, {"deep/b.csv", "2\n"}});
  outside_.file("https://data.test/all.zip", zip);
  RequestOptions options;
  options.strategy = "web-fileset-bundled";
  const json::object result = run(options);
  EXPECT_EQ(text(result, "status"), "mismatch-md5");
  EXPECT_THAT(statuses(result), ElementsAre("success", "mismatch-md5"));
  EXPECT_EQ(text(result.at("fileset_bundle").at("file_meta").as_object(), "sha1hex"),
            sha1_hex(zip));
  EXPECT_THAT(outside_.ordered(), SizeIs(1));
  // Without a manifest, what is in it is one.
  answer_->item.manifest.clear();
  options.strategy = "archiveorg-fileset-bundled";
  const json::object listed = run(options);
  EXPECT_EQ(text(listed, "status"), "success");
  EXPECT_EQ(listed.at("file_count").as_int64(), 2);
  EXPECT_EQ(listed.at("total_size").as_int64(), 14);
  EXPECT_EQ(text(listed.at("fileset_bundle").as_object(), "archiveorg_bundle_path"),
            "data.test-1.zip");
  EXPECT_THAT(items_->uploads, ElementsAre("data.test-1.zip"));
}

TEST_P(FilesetTest, ARetryDoesOnlyWhatFailed) {
  add_file("a.csv", "hello,world\n");
  add_file("b.csv", "1\n");
  Kept down;
  down.status = "spn2-error:x";
  web_->kept["https://data.test/files/b.csv"] = down;
  const tree::Job first = begin(order_of());
  EXPECT_EQ(text(result_of(first.id), "status"), "spn2-error:x");
  web_->kept.clear();
  const std::size_t before = outside_.ordered().size();
  const Result<tree::Job> second = retry(first.id);
  ASSERT_TRUE(second.ok()) << second.error().message();
  EXPECT_NE(second->id, first.id);
  EXPECT_EQ(text(result_of(second->id), "status"), "success");
  std::vector<std::string> asked;
  for (std::size_t i = before; i < outside_.ordered().size(); ++i) {
    asked.push_back(outside_.ordered()[i].url);
  }
  EXPECT_THAT(asked, ElementsAre("https://data.test/files/b.csv"));
  EXPECT_EQ(load(second->id).files[0].file.status, "success");
}

TEST_P(FilesetTest, WhatWasKeptBeforeIsNotFetchedAgain) {
  add_file("a.csv", "hello,world\n");
  EXPECT_EQ(text(run(), "status"), "success-file");
  RequestOptions other;
  other.bundle = true;
  const json::object again = run(other);
  EXPECT_EQ(text(again, "status"), "success-existing");
  EXPECT_THAT(outside_.ordered(), SizeIs(1));
  RequestOptions forced;
  forced.force_recrawl = true;
  EXPECT_EQ(text(run(forced), "status"), "success-file");
  EXPECT_THAT(outside_.ordered(), SizeIs(2));
}

TEST_P(FilesetTest, IngestedFilesAreRootsOfTheJob) {
  add_file("a.csv", "hello,world\n");
  add_file("deep/b.csv", "1\n");
  RequestOptions options;
  options.ingest = true;
  const Shown shown = finish(begin(order_of(kPageUrl, options)).id);
  EXPECT_EQ(shown.row.status, "success");
  EXPECT_EQ(count(kRoots), 2);
  EXPECT_EQ(load(shown.row.job).job.sums.roots, 2);
}

TEST_P(FilesetTest, ADeletedDatasetLeavesNoRow) {
  add_file("a.csv", "hello,world\n");
  const Shown shown = finish(begin(order_of()).id);
  ASSERT_EQ(count(kFiles), 1);
  bool gone = false;
  while (!gone) {
    const Result<bool> done = writer_->run(
        store::LaneKey{}, [&](store::Tx& tx) { return remove_fileset(tx, shown.row.job); });
    ASSERT_TRUE(done.ok()) << done.error().message();
    gone = *done;
  }
  EXPECT_EQ(count(kFiles), 0);
}

TEST_P(FilesetTest, TwoFilesOfOnePathAreNoTwoFilesOfAnItem) {
  add_file("a.csv", "hello,world\n");
  add_file("a.csv", "hello,world\n");
  outside_.file("https://data.test/else", "another\n");
  ManifestFile& twin = add_file("a.csv", "another\n");
  twin.platform_url = "https://data.test/else";
  outside_.file("https://data.test/files/a.csv", "hello,world\n");
  RequestOptions options;
  options.strategy = "archiveorg-fileset";
  const json::object result = run(options);
  EXPECT_EQ(text(result, "status"), "unsafe-path");
  EXPECT_THAT(statuses(result), ElementsAre("success", "success", "unsafe-path"));
}

TEST_P(FilesetTest, FilesOfUnknownSizeShareTheLimitOfTheRequest) {
  add_file("a.csv", std::string(60, 'a')).size.reset();
  add_file("b.csv", std::string(60, 'b')).size.reset();
  RequestOptions options;
  options.bytes_max = 100;
  stop();
  at_once_ = 1;
  start();
  const json::object result = run(options);
  EXPECT_EQ(text(result, "status"), "too-large-size");
  EXPECT_THAT(statuses(result), ElementsAre("success", "too-large-size"));
}

TEST_P(FilesetTest, AResultThatIsTooLargeForAMessageIsARowAlone) {
  const std::string large(kTopicMessageBytesMax + 1, 'x');
  const auto published = writer_->run(store::LaneKey{}, [&](store::Tx& tx) -> Result<bool> {
    TRY(publish(tx, "t", "large", large));
    TRY(publish(tx, "t", "fits", large.substr(1)));
    return true;
  });
  ASSERT_TRUE(published.ok()) << published.error().message();
  const auto messages =
      readers_->run([](store::Tx& tx) { return list_messages(tx, "t", 0, -1, 10); });
  ASSERT_TRUE(messages.ok());
  ASSERT_THAT(*messages, SizeIs(1));
  EXPECT_EQ(messages->front().key, "t:fits");
}

TEST_P(FilesetTest, ACanceledRequestSaysSo) {
  add_file("a.csv", "hello,world\n");
  stop();
  start();
  web_->pages.clear();
  const tree::Job job = *writer_->run(store::LaneKey{}, [&](store::Tx& tx) -> Result<tree::Job> {
    tree::NewJob wanted;
    wanted.kind = kJobKind;
    wanted.collection = "default";
    wanted.key = "one";
    TRY_ASSIGN(tree::Job made, tree::ensure_job(tx, wanted));
    return tree::cancel_job(tx, made.id);
  });
  const auto partition = queue::ensure_partition(*writer_, *readers_, partition_name(job.id));
  ASSERT_TRUE(partition.ok());
  const auto opened =
      writer_->run(queue::lane_of(*partition),
                   queue::change_partition(*partition, [&](store::Tx& tx) -> Result<bool> {
                     TRY(add_request(tx, {job.id, job.collection, order_of().request, {}, {}}));
                     TRY(open_partition(tx, *partition, job.id, 1));
                     return true;
                   }));
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  EXPECT_EQ(text(result_of(job.id), "status"), "canceled");
  EXPECT_THAT(web_->asked_pages, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Stores, FilesetTest,
                         testing::Values(store::StoreKind::Sqlite, store::StoreKind::Postgres),
                         store::store_name);

}  // namespace
}  // namespace quern::fileset
