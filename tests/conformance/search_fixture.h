// What the tests of packing share: a store of either kind with blobs and packs, documents that are
// there in one call, and answers as text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/tree_fixture.h"
#include "queue/message.h"
#include "search/check.h"
#include "search/group.h"
#include "search/packing.h"
#include "tree/change.h"
#include "tree/remove.h"

namespace quern::search {

using store::StoreKind;
using store::Tx;
using tree::Job;

class SearchTest : public tree::TreeTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  // A finished job whose documents are these: filename and text of each.
  using Texts = std::vector<std::pair<std::string, std::string>>;
  Job add(const std::string& key, const Texts& documents,
          const std::string& collection = "default");
  // As if the packers' queue were claimed by one more process: the token it gets.
  PackRight claim();
  // Another process with a folder of its own.
  std::unique_ptr<Packing> other_packer(const std::string& folder, PackingOptions options = {});

  Result<PackReport> pack(const std::string& collection = "default");
  // That pack() uses.
  const std::optional<PackRight>& right() const { return right_; }
  PackList list(const std::string& collection = "default");
  std::vector<tree::Change> changes(const std::string& collection = "default");
  // "3+2-1": documents of each segment, and of that masked.
  std::string shape(const std::string& collection = "default");
  // Everything that is published of these collections (none: default), as whoever searches has it.
  std::vector<GroupMember> members(const std::vector<std::string>& collections = {});
  GroupAnswer ask(const std::string& query, const std::vector<std::string>& collections = {});
  // "a.txt b.txt": the names of the hits, in their order.
  std::string find(const std::string& query, const std::vector<std::string>& collections = {});
  Result<> mark_gone(tree::JobId job);
  std::string search_problems();

  std::unique_ptr<blob::BlobStore> blobs_;
  std::unique_ptr<PackFolder> packs_;
  std::unique_ptr<PackSource> source_;
  std::unique_ptr<Packing> packing_;
  PackingOptions options_;

 private:
  struct Other {
    std::unique_ptr<PackFolder> folder;
    std::unique_ptr<PackSource> source;
  };
  std::vector<Other> others_;
  std::optional<PackRight> right_;
};

}  // namespace quern::search
