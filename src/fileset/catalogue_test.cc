#include "fileset/catalogue.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/corpus.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

std::string digest(int number, std::size_t length) {
  std::string text = std::to_string(number);
  text.insert(0, length - text.size(), '0');
  return text;
}

json::object file_of(int number) {
  return {{"path", "f" + std::to_string(number)},
          {"size", number},
          {"md5", digest(number, 32)},
          {"sha1", digest(number, 40)},
          {"sha256", digest(number, 64)},
          {"mimetype", "text/csv"},
          {"status", "success"},
          {"platform_url", "https://data.test/f" + std::to_string(number)}};
}

json::object result_of(std::vector<int> files, const std::string& strategy) {
  json::array manifest;
  for (const int number : files) manifest.push_back(file_of(number));
  return {{"hit", true},
          {"status", strategy.ends_with("-file") ? "success-file" : "success"},
          {"request", json::object{{"ingest_type", "dataset"},
                                   {"base_url", "https://data.test/"},
                                   {"fatcat", json::object{{"release_ident", "rel"}}}}},
          {"terminal", json::object{{"terminal_url", "https://data.test/1"}}},
          {"ingest_strategy", strategy},
          {"archiveorg_item_name", "data.test-1"},
          {"platform_name", "zenodo"},
          {"file_count", files.size()},
          {"manifest", manifest}};
}

std::string taken(Catalogue& catalogue, const json::object& result) {
  const Catalogue::Entity entity = catalogue.take(json::serialize(result));
  return entity.kind.empty() ? entity.skipped : entity.kind;
}

TEST(CatalogueTest, FilesetsAreDeduplicatedByTheirSetOfDigests) {
  Catalogue catalogue;
  EXPECT_EQ(taken(catalogue, result_of({1, 2}, "archiveorg-fileset")), "fileset");
  EXPECT_EQ(taken(catalogue, result_of({2, 1}, "web-fileset")), "skip-in-queue");
  EXPECT_EQ(taken(catalogue, result_of({1, 3}, "web-fileset")), "fileset");
  EXPECT_EQ(taken(catalogue, result_of({1}, "web-fileset")), "skip-single-file");
  EXPECT_EQ(taken(catalogue, result_of({}, "web-fileset")), "skip-empty-manifest");
  json::object existing = result_of({5, 6}, "web-fileset-bundled");
  existing["status"] = "success-existing";
  EXPECT_EQ(taken(catalogue, existing), "fileset");
  EXPECT_EQ(catalogue.counts().at("insert-fileset"), 3);
  EXPECT_EQ(catalogue.counts().at("skip-in-queue"), 1);
}

TEST(CatalogueTest, AFilesetSaysWhereItsFilesAre) {
  Catalogue catalogue;
  const Catalogue::Entity entity =
      catalogue.take(json::serialize(result_of({1, 2}, "archiveorg-fileset")));
  EXPECT_EQ(json::serialize(entity.entity.at("urls")),
            R"([{"rel":"web","url":"https://data.test/1"},)"
            R"({"rel":"archive-base","url":"https://archive.org/download/data.test-1/"}])");
  EXPECT_EQ(entity.entity.at("manifest").as_array().size(), 2U);
  EXPECT_EQ(entity.entity.at("release_ids"), json::value(json::array{"rel"}));
}

TEST(CatalogueTest, SingleFilesAreFiles) {
  Catalogue catalogue;
  const Catalogue::Entity entity =
      catalogue.take(json::serialize(result_of({1}, "archiveorg-file")));
  EXPECT_EQ(entity.kind, "file");
  EXPECT_EQ(json::serialize(entity.entity.at("urls")),
            R"([{"rel":"web","url":"https://data.test/f1"},)"
            R"({"rel":"archive","url":"https://archive.org/download/data.test-1/f1"}])");
  EXPECT_EQ(entity.entity.at("extra").at("path"), "f1");
  const json::object told{
      {"hit", true},
      {"status", "success"},
      {"request", json::object{{"ingest_type", "dataset-file"}, {"base_url", "https://x.test/"}}},
      {"terminal",
       json::object{{"terminal_url", "https://x.test/f"}, {"terminal_dt", "20200101000000"}}},
      {"file_meta", json::object{{"sha1hex", digest(9, 40)},
                                 {"md5hex", digest(9, 32)},
                                 {"size_bytes", 9},
                                 {"mimetype", "application/x-anything"}}}};
  EXPECT_EQ(taken(catalogue, told), "file");
  EXPECT_EQ(taken(catalogue, told), "skip-in-queue");
}

TEST(CatalogueTest, WhatIsNoGoodIsLeftOutWithAReason) {
  Catalogue catalogue;
  EXPECT_EQ(catalogue.take("nonsense").skipped, "skip-no-json");
  EXPECT_EQ(catalogue.take("[]").skipped, "skip-no-json");
  json::object miss = result_of({1, 2}, "web-fileset");
  miss["hit"] = false;
  EXPECT_EQ(taken(catalogue, miss), "skip-no-hit");
  json::object partial = result_of({1, 2}, "web-fileset");
  partial["manifest"].as_array()[1].as_object().erase("sha1");
  EXPECT_EQ(taken(catalogue, partial), "skip-partial-file-info");
  json::object wrong = result_of({1, 2}, "web-fileset");
  wrong["file_count"] = 3;
  EXPECT_EQ(taken(catalogue, wrong), "skip-wrong-file-count");
  json::object source = result_of({1, 2}, "web-fileset");
  source["request"].as_object()["ingest_request_source"] = "savepapernow-web";
  EXPECT_EQ(taken(catalogue, source), "skip-savepapernow");
  source["request"].as_object()["ingest_request_source"] = "somebody";
  EXPECT_EQ(taken(catalogue, source), "skip-ingest_request_source");
  json::object hashes = result_of({1}, "web-file");
  hashes["manifest"].as_array()[0].as_object()["sha1"] = digest(1, 32);
  EXPECT_EQ(taken(catalogue, hashes), "skip-bad-hashes");
  std::vector<int> many(kCatalogueFilesMax + 1);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int>(i);
  EXPECT_EQ(taken(catalogue, result_of(many, "web-fileset")), "skip-too-many-files");
}

std::map<std::string, int> counts_of(const std::filesystem::path& file) {
  Catalogue catalogue;
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) catalogue.take(line);
  return catalogue.counts();
}

// Ten real results of each kind; their catalogue took the filesets whose release it knew, and left
// out the files whose digests were damaged.
TEST(CatalogueTest, RealResultsAreTakenAsTheirCatalogueDid) {
  QUERN_CORPUS_OR_SKIP(folder);
  const auto filesets = counts_of(folder / "filesets/results_fileset.jsonl");
  EXPECT_EQ(filesets, (std::map<std::string, int>{{"insert-fileset", 10}}));
  const auto files = counts_of(folder / "filesets/results_fileset_file.jsonl");
  EXPECT_EQ(files, (std::map<std::string, int>{{"insert-file", 7}, {"skip-bad-hashes", 3}}));
}

}  // namespace
}  // namespace quern::fileset
