#include "conformance/tree_fixture.h"

#include <fmt/format.h>

namespace quern::tree {
namespace {

void show_below(Tx& tx, const File& file, std::string& text) {
  if (!text.empty()) text += " | ";
  text += fmt::format(
      "{} {}", file.filename,
      file.state == model::FileState::Ingested ? to_string(file.became) : to_string(file.state));
  const auto children = list_children(tx, file.id, -1, kListMax);
  for (const File& child : *children) show_below(tx, child, text);
}

}  // namespace

Job TreeTest::open_job(const std::string& key, const std::string& collection, std::int64_t shards) {
  NewJob order;
  order.collection = collection;
  order.key = key;
  order.source = "a test";
  order.shards = shards;
  const Result<Job> job = step::open_import(*writer_, *readers_, order, [](queue::PartitionId) {});
  CHECK_OK(job);
  return *job;
}

Job TreeTest::reload(JobId id) {
  return *read([id](Tx& tx) { return load_job(tx, id); });
}

ShardId TreeTest::shard_of(JobId job, std::int64_t index) {
  return *step::shard_of_root(*readers_, job, index);
}

Job TreeTest::seal(JobId id, std::int64_t skipped) {
  return *writer_->run({}, [id, skipped](Tx& tx) { return seal_job(tx, id, skipped); });
}

blob::Put TreeTest::put(const std::string& bytes) {
  CHECK(bytes.size() <= blob::kInlineBytesMax);
  blob::Put put;
  put.bytes = static_cast<std::int64_t>(bytes.size());
  put.sha256 = blob::sha256_of(bytes);
  put.sha1 = blob::sha1_of(bytes);
  put.data = bytes;
  return put;
}

NewFile TreeTest::file_of(const std::string& name, const std::string& bytes,
                          const std::string& step) {
  NewFile file;
  file.filename = name;
  file.content_type = "application/octet-stream";
  file.blob = put(bytes);
  file.bytes = static_cast<std::int64_t>(bytes.size());
  file.step = step;
  return file;
}

NewFile TreeTest::document(const std::string& name, const std::string& text) {
  NewFile file = file_of(name, "%PDF-1.4 " + text, "");
  file.content_type = "application/pdf";
  file.text = Text{text, {}, blob::sha256_of(text), false};
  file.thumbnail = Thumbnail{put("\x89PNG " + text), "image/png"};
  file.complete = true;
  return file;
}

NewFile TreeTest::failed(const std::string& name, model::ErrorKind kind) {
  NewFile file;
  file.filename = name;
  file.content_type = "application/octet-stream";
  file.failure = Failure{kind, "it is so"};
  return file;
}

AddRoot TreeTest::root_of(const Job& job, std::int64_t index, NewFile file) {
  AddRoot root;
  root.job = job.id;
  root.collection = job.collection;
  root.shard = shard_of(job.id, index);
  root.index = index;
  root.file = std::move(file);
  return root;
}

File TreeTest::add_root(const Job& job, std::int64_t index, const std::string& name,
                        const std::string& step) {
  const AddRoot root = root_of(job, index, file_of(name, "bytes of " + name, step));
  const Result<AddedFile> added =
      writer_->run({static_cast<std::uint64_t>(root.shard.value)}, root);
  CHECK_OK(added);
  return load(added->id);
}

FinishChild TreeTest::child_of(const File& parent, std::int64_t index, NewFile file) {
  FinishChild op;
  op.parent = {parent.id,      parent.root.value_or(parent.id),
               parent.job,     parent.collection,
               parent.shard,   parent.depth,
               parent.position};
  op.index = index;
  op.file = std::move(file);
  // The first child gets half of the slice, the next one half of the rest.
  double left = parent.progress_begin;
  for (std::int64_t i = 0; i < index; ++i) left += (parent.progress_end - left) / 2;
  op.progress_begin = left;
  op.progress_end = left + (parent.progress_end - left) / 2;
  return op;
}

AddedFile TreeTest::add_child(const File& parent, std::int64_t index, NewFile file) {
  const Result<AddedFile> added = try_child(child_of(parent, index, std::move(file)));
  CHECK_OK(added);
  return *added;
}

Result<AddedFile> TreeTest::try_child(const FinishChild& op) {
  return writer_->run({static_cast<std::uint64_t>(op.parent.shard.value)}, op);
}

File TreeTest::load(FileId id) {
  return *read([id](Tx& tx) { return load_file(tx, id); });
}

bool TreeTest::finish(const File& file, std::optional<Failure> failure) {
  FinishFile op{file.shard, 0, file.id, std::move(failure), {}};
  const Result<bool> ended = writer_->run({static_cast<std::uint64_t>(file.shard.value)}, op);
  CHECK_OK(ended);
  return *ended;
}

CountEnd::Reply TreeTest::count(const File& file, CountEnd::Kind kind) {
  CountEnd op{file.shard, 0, file.id, kind, {model::ErrorKind::Crash, "signal 11"}, {}};
  return *writer_->run({static_cast<std::uint64_t>(file.shard.value)}, op);
}

Ingest::Reply TreeTest::ingest_once(ShardId shard) {
  return *writer_->run({static_cast<std::uint64_t>(shard.value)}, Ingest{shard, 0});
}

std::string TreeTest::ingest(ShardId shard) {
  std::map<std::string, int> became;
  while (true) {
    const Ingest::Reply reply = ingest_once(shard);
    for (const IngestedFile& file : reply.files) ++became[std::string(to_string(file.became))];
    if (reply.files.empty()) break;
  }
  std::string text;
  for (const auto& [what, many] : became) text += fmt::format("{} {} ", many, what);
  if (!text.empty()) text.pop_back();
  return text;
}

bool TreeTest::finish_shard_of(const Job& job, std::int64_t shard) {
  const ShardId id = shard_of(job.id, shard);
  return *change(id, [id](Tx& tx) { return finish_shard(tx, id); });
}

std::int64_t TreeTest::rows_of(const std::string& table) {
  auto session = database_->connect_reader();
  CHECK_OK(session);
  static constexpr store::Sql kBlobs{"SELECT count(*) FROM blob"};
  static constexpr store::Sql kDoubts{"SELECT count(*) FROM blob_doubt"};
  static constexpr store::Sql kFiles{"SELECT count(*) FROM file"};
  static constexpr store::Sql kTexts{"SELECT count(*) FROM file_text"};
  static constexpr store::Sql kRenderings{"SELECT count(*) FROM rendering"};
  static constexpr store::Sql kShards{"SELECT count(*) FROM shard"};
  static constexpr store::Sql kSteps{"SELECT count(*) FROM shard_step"};
  static constexpr store::Sql kJobs{"SELECT count(*) FROM job"};
  static constexpr store::Sql kCollections{"SELECT count(*) FROM collection"};
  static constexpr store::Sql kSegments{"SELECT count(*) FROM segment"};
  static constexpr store::Sql kPacks{"SELECT count(*) FROM pack"};
  static constexpr store::Sql kChanges{"SELECT count(*) FROM document_change"};
  const std::map<std::string, const store::Sql*> of = {
      {"blob", &kBlobs},        {"rendering", &kRenderings},
      {"blob_doubt", &kDoubts}, {"file", &kFiles},
      {"file_text", &kTexts},   {"segment", &kSegments},
      {"pack", &kPacks},        {"document_change", &kChanges},
      {"shard", &kShards},      {"shard_step", &kSteps},
      {"job", &kJobs},          {"collection", &kCollections}};
  return (*(*session)->run(*of.at(table), {}))[0].get<std::int64_t>(0);
}

std::string TreeTest::show(JobId job) {
  return *read([job](Tx& tx) -> Result<std::string> {
    std::string text;
    TRY_ASSIGN(const std::vector<File> roots, list_roots(tx, job, -1, kListMax));
    for (const File& root : roots) show_below(tx, root, text);
    return text;
  });
}

std::string TreeTest::problems() {
  const Result<std::vector<std::string>> found = check_tree(*readers_);
  CHECK_OK(found);
  return fmt::format("{}", fmt::join(*found, "\n"));
}

}  // namespace quern::tree
