// Datasets as they are: over the network, from stand-ins of the platforms, into our own archive.
#include <gmock/gmock.h>

#include <set>

#include "conformance/fileset_fixture.h"
#include "fileset/file_row.h"
#include "fileset/network.h"
#include "fileset/request_row.h"
#include "support/platform_site.h"
#include "tree/remove.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;
using support::PlatformSite;

constexpr const char* kPlatforms[] = {"zenodo",  "invenio",  "figshare",  "dataverse",
                                      "dryad",   "osf",      "github",    "ckan",
                                      "dataone", "datacite", "schemaorg", "single"};

std::string text(const json::value& value, const char* key) {
  const json::value* found = value.as_object().if_contains(key);
  return found == nullptr || !found->is_string() ? "" : std::string(found->get_string());
}

class FilesetNetworkTest : public FilesetTest {
 protected:
  Backends backends() override {
    NetworkOptions options;
    options.allow_private = "*";
    options.bases = site_.bases();
    Result<std::unique_ptr<Network>> network =
        Network::open({loop_->loop(), *pool_, folder_.path()}, std::move(options));
    CHECK_OK(network);
    network_ = *std::move(network);
    return {network_->outside(), [this](const ToolOrder& order) { return network_->tools(order); },
            [this] { network_->close(); }};
  }
  void closed() override { network_.reset(); }

  json::object keep(const std::string& platform, const std::string& dataset) {
    return result_of(begin(order_of(site_.landing(platform, dataset))).id);
  }
  std::set<std::string> digests_of(const std::string& dataset) {
    std::set<std::string> digests;
    for (const json::value& file : site_.dataset(dataset).at("files").as_array()) {
      digests.insert(text(file, "sha256"));
    }
    return digests;
  }
  void expect_kept(const json::object& result, const std::string& dataset) {
    EXPECT_TRUE(result.at("hit").as_bool()) << json::serialize(result);
    if (!result.contains("manifest")) return;
    const std::set<std::string> digests = digests_of(dataset);
    for (const json::value& file : result.at("manifest").as_array()) {
      EXPECT_EQ(text(file, "status"), "success");
      EXPECT_TRUE(digests.contains(text(file, "sha256"))) << json::serialize(file);
    }
  }

  PlatformSite site_;
  std::unique_ptr<Network> network_;
};

TEST_P(FilesetNetworkTest, ADatasetIsKeptFromEachPlatform) {
  for (const char* platform : kPlatforms) {
    SCOPED_TRACE(platform);
    expect_kept(keep(platform, "plain"), "plain");
  }
  constexpr store::Sql kCaptures{"SELECT count(*) FROM capture"};
  EXPECT_GE(count(kCaptures), 2 * static_cast<std::int64_t>(std::size(kPlatforms)));
}

TEST_P(FilesetNetworkTest, WhatGoesWrongIsRepaired) {
  for (const char* dataset : {"reset", "wrongrange", "etag", "signed", "drip", "errorxml", "short",
                              "file429", "file503", "api429", "api503", "zero", "folders"}) {
    SCOPED_TRACE(dataset);
    expect_kept(keep("zenodo", dataset), dataset);
  }
}

TEST_P(FilesetNetworkTest, WhatCannotBeRepairedIsReported) {
  EXPECT_EQ(text(keep("zenodo", "gone"), "status"), "platform-restricted");
  EXPECT_EQ(text(keep("zenodo", "restricted"), "status"), "platform-restricted");
  EXPECT_EQ(text(keep("zenodo", "empty"), "status"), "empty-manifest");
  EXPECT_EQ(text(keep("zenodo", "cutjson"), "status"), "platform-error");
  EXPECT_EQ(text(keep("zenodo", "corrupt"), "status"), "mismatch-md5");
}

// What a later request has taken over stays until that goes, too.
TEST_P(FilesetNetworkTest, AnArchiveGoesWithTheLastRequestThatHasCapturesInIt) {
  const auto archives_of = [this](tree::JobId job) {
    return *readers_->run([job](store::Tx& tx) { return list_archives(tx, job); });
  };
  const auto own_of = [this](tree::JobId job) {
    return archive_of(*readers_->run([job](store::Tx& tx) { return load_request(tx, job); }));
  };
  const auto remove = [this](tree::JobId job) {
    CHECK_OK(writer_->run({}, [job](store::Tx& tx) -> Result<bool> {
      TRY(tree::mark_deleting(tx, job));
      return true;
    }));
  };
  const std::string landing = site_.landing("zenodo", "plain");
  const tree::JobId first = begin(order_of(landing)).id;
  result_of(first);
  ASSERT_EQ(archives_of(first), std::vector<std::string>{own_of(first)});
  RequestOptions other;
  other.files_max = 100;  // else it would be gone on with: nobody reads its files here
  const tree::JobId second = begin(order_of(landing, other)).id;
  ASSERT_NE(second, first);
  result_of(second);
  EXPECT_TRUE(archives_of(first).empty()) << "the second one has its captures";
  EXPECT_EQ(archives_of(second), std::vector<std::string>{own_of(second)});
  remove(first);
  EXPECT_EQ(archives_of(second), (std::vector<std::string>{own_of(first), own_of(second)}));
  remove(second);
  EXPECT_EQ(archives_of(first), std::vector<std::string>{own_of(first)}) << "whoever comes first";
}

INSTANTIATE_TEST_SUITE_P(Stores, FilesetNetworkTest, testing::Values(store::StoreKind::Sqlite),
                         store::store_name);

}  // namespace
}  // namespace quern::fileset
