#include "conformance/search_fixture.h"

#include "queue/owner.h"

namespace quern::search {
namespace {

constexpr store::Sql kNextToken{
    "UPDATE partition SET token = token + 1 WHERE id = $1 RETURNING token"};

}  // namespace

void SearchTest::SetUp() {
  ASSERT_NO_FATAL_FAILURE(TreeTest::SetUp());
  const blob::BlobUrl url = *blob::BlobUrl::parse("file:" + (folder_ / "blobs").string());
  auto blobs = blob::BlobStore::open(url, *writer_, *readers_, blob::BlobStore::Owner::OneOfMany);
  ASSERT_TRUE(blobs.ok()) << blobs.error().message();
  blobs_ = *std::move(blobs);
  auto packs = PackFolder::open(folder_ / "packs", PackFolder::Owner::Only);
  ASSERT_TRUE(packs.ok()) << packs.error().message();
  packs_ = *std::move(packs);
  source_ = std::make_unique<PackSource>(*packs_, *readers_, *blobs_);
  packing_ =
      std::make_unique<Packing>(Packing::Parts{*writer_, *readers_, *blobs_, *source_}, options_);
}

void SearchTest::TearDown() {
  packing_.reset();
  source_.reset();
  packs_.reset();
  others_.clear();
  blobs_.reset();
  TreeTest::TearDown();
}

Job SearchTest::add(const std::string& key, const Texts& documents, const std::string& collection) {
  const Job job = open_job(key, collection);
  const tree::File root = add_root(job, 0, key + ".zip");
  std::int64_t index = 0;
  for (const auto& [name, text] : documents) add_child(root, index++, document(name, text));
  finish(root);
  ingest(root.shard);
  seal(job.id);
  finish_shard_of(job);
  return reload(job.id);
}

PackRight SearchTest::claim() {
  PackRight right;
  right.packers = *queue::ensure_queue(*writer_, *readers_, "PACK");
  right.orchestrator = *queue::ensure_queue(*writer_, *readers_, "ORCH");
  const queue::PartitionId packers = right.packers;
  right.token = *writer_->run(queue::lane_of(packers), store::Alone{[packers](Tx& tx) {
                                return tx.value<std::int64_t>(kNextToken, packers);
                              }});
  return right;
}

std::unique_ptr<Packing> SearchTest::other_packer(const std::string& folder,
                                                  PackingOptions options) {
  Other other;
  other.folder = *PackFolder::open(folder_ / folder, PackFolder::Owner::Only);
  other.source = std::make_unique<PackSource>(*other.folder, *readers_, *blobs_);
  auto packing = std::make_unique<Packing>(
      Packing::Parts{*writer_, *readers_, *blobs_, *other.source}, options);
  others_.push_back(std::move(other));
  return packing;
}

Result<PackReport> SearchTest::pack(const std::string& collection) {
  if (!right_) right_ = claim();
  return packing_->incremental(collection, *right_);
}

PackList SearchTest::list(const std::string& collection) {
  const auto list = read([&](Tx& tx) { return load_pack(tx, collection); });
  return list.ok() ? *list : PackList{};
}

std::vector<tree::Change> SearchTest::changes(const std::string& collection) {
  return *read([&](Tx& tx) -> Result<std::vector<tree::Change>> {
    TRY_ASSIGN(const PackList list, load_pack(tx, collection));
    return tree::list_changes(tx, list.collection, 0, 1000);
  });
}

std::string SearchTest::shape(const std::string& collection) {
  std::string text;
  for (const Segment& segment : list(collection).segments) {
    text += fmt::format("{}{}", text.empty() ? "" : "+", segment.documents);
    if (segment.masked > 0) text += fmt::format("-{}", segment.masked);
  }
  return text;
}

std::vector<GroupMember> SearchTest::members(const std::vector<std::string>& collections) {
  std::vector<GroupMember> all;
  for (const std::string& name :
       collections.empty() ? std::vector<std::string>{"default"} : collections) {
    for (const Segment& segment : list(name).segments) {
      all.push_back({*source_->load(segment), *source_->load_mask(segment), name});
    }
  }
  return all;
}

GroupAnswer SearchTest::ask(const std::string& query, const std::vector<std::string>& collections) {
  GroupOrder order;
  order.query = parse_query(query);
  order.limit = kHitsMax;
  order.facets = true;
  for (const tree::JobId job : *read([](Tx& tx) { return tree::list_hidden_jobs(tx); })) {
    order.hidden_jobs.push_back(job.value);
  }
  const std::vector<GroupMember> all = members(collections);
  order.frequencies = *count_tokens(all, tokens_of(order.query));
  const Result<GroupAnswer> answer = search_group(all, order);
  EXPECT_TRUE(answer.ok()) << query << ": " << answer.error().message();
  return answer.ok() ? *answer : GroupAnswer{};
}

std::string SearchTest::find(const std::string& query,
                             const std::vector<std::string>& collections) {
  std::string names;
  for (const GroupHit& hit : ask(query, collections).hits) {
    names += (names.empty() ? "" : " ") + hit.hit.filename;
  }
  return names;
}

Result<> SearchTest::mark_gone(tree::JobId job) {
  return writer_->run({}, [job](Tx& tx) { return tree::mark_deleting(tx, job); });
}

std::string SearchTest::search_problems() {
  const auto problems = check_search(*readers_);
  if (!problems.ok()) return problems.error().message();
  std::string text;
  for (const std::string& problem : *problems) text += problem + "\n";
  return text;
}

}  // namespace quern::search
