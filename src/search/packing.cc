#include "search/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <set>

#include "base/crash.h"
#include "queue/item.h"
#include "queue/locked_partitions.h"
#include "queue/message.h"
#include "search/collect.h"
#include "search/pack_file.h"

namespace quern::search {
namespace {

namespace json = boost::json;
using store::Tx;
using tree::Change;
using tree::ChangeKind;

constexpr int kMergePublishAttempts = 5;

struct Beginning {
  PackList list;
  std::vector<Change> changes;
};

Result<Beginning> load_beginning(Tx& tx, const std::string& collection, std::size_t changes_max) {
  Beginning begin;
  Result<PackList> list = load_pack(tx, collection);
  if (!list.ok() && list.error().kind() == Errc::Missing) return begin;
  TRY_ASSIGN(begin.list, std::move(list));
  TRY_ASSIGN(begin.changes, tree::list_changes(tx, begin.list.collection, 0, changes_max));
  return begin;
}

Publication publication_of(const PackList& list) {
  Publication publication;
  publication.collection = list.collection;
  publication.name = list.name;
  publication.from_version = list.version;
  return publication;
}

// Says so to the orchestrator, in the same transaction.
Result<> post_update(Tx& tx, const Publication& publication, std::int64_t version,
                     queue::PartitionId orchestrator) {
  json::object body{{"type", "update"}, {"site", publication.name}, {"version", version}};
  if (publication.added) body["digest"] = publication.added->info.digest;
  TRY_ASSIGN(const queue::Message message, queue::parse_message("ORCH", json::serialize(body)));
  const std::string key = fmt::format("update:{}:{}", publication.collection, version);
  const queue::PutItems put{orchestrator, {queue::message_item(message, key)}};
  TRY(std::move(queue::apply(tx, std::span<const queue::PutItems>(&put, 1))[0]));
  return {};
}

}  // namespace

// A pack under way in the folder of packs.
class Packing::Building {
 public:
  static Result<Building> begin(PackFolder& folder, const std::atomic<bool>& stopping) {
    const io::Path path = folder.building_path();
    TRY_ASSIGN(PackBuilder builder, PackBuilder::create(path, &stopping));
    return Building{path, std::move(builder)};
  }

  io::Path path;
  PackBuilder builder;
  std::int64_t text_bytes = 0;
};

struct Packing::Gone {
  std::vector<std::int64_t> files;
  std::vector<std::int64_t> jobs;
};

Result<> Packing::go_on() const {
  if (stopping_) return Error{Errc::Canceled, "the packer is stopping"};
  return {};
}

Result<std::optional<NewSegment>> Packing::finish(Building& building) {
  if (building.builder.documents() == 0) return std::optional<NewSegment>();
  NewSegment added;
  TRY_ASSIGN(added.info, building.builder.finish());
  crash_point("search.pack.built");
  const auto take_in = [&]() -> Result<> {
    TRY(go_on());
    TRY_ASSIGN(added.put, store_pack_file(parts_.blobs, building.path));
    TRY(parts_.source.folder().adopt(building.path, added.info.digest));
    return {};
  };
  const Result<> taken = take_in();
  if (taken.ok()) return std::optional<NewSegment>(std::move(added));
  // It would lie there until the next start.
  (void)io::remove_durably(building.path, io::IfMissing::Fine);
  return taken.error();
}

// Those that a live segment has already: a full pack may have been faster than their changes.
Result<std::vector<std::int64_t>> Packing::known_files(const PackList& list,
                                                       const std::vector<std::int64_t>& files) {
  std::vector<std::int64_t> known;
  for (const Segment& segment : list.segments) {
    std::vector<std::int64_t> inside;
    for (const std::int64_t file : files) {
      if (file >= segment.file_min && file <= segment.file_max) inside.push_back(file);
    }
    if (inside.empty()) continue;
    TRY_ASSIGN(const auto pack, parts_.source.load(segment));
    TRY_ASSIGN(const std::shared_ptr<const Mask> masked, parts_.source.load_mask(segment));
    for (const std::int64_t file : inside) {
      TRY_ASSIGN(const std::vector<std::uint32_t> rows, pack->rows_of_files({&file, 1}));
      if (!rows.empty() && (!masked || !masked->has(rows[0]))) known.push_back(file);
    }
  }
  std::sort(known.begin(), known.end());
  return known;
}

Result<> Packing::add_changed(const PackList& list, const std::vector<Change>& changes,
                              Building& building, Publication& publication) {
  std::vector<std::int64_t> files;
  std::set<std::int64_t> gone;
  for (const Change& change : changes) {
    if (change.kind == ChangeKind::Added) files.push_back(change.subject);
    if (change.kind == ChangeKind::Gone) gone.insert(change.subject);
  }
  TRY_ASSIGN(const std::vector<std::int64_t> known, known_files(list, files));
  std::vector<tree::FileId> wanted;
  const auto add_wanted = [&]() -> Result<> {
    TRY(go_on());
    TRY_ASSIGN(const std::vector<PackDocument> documents,
               collect(parts_.readers, parts_.blobs, wanted));
    for (const PackDocument& document : documents) {
      TRY(building.builder.add(document));
      building.text_bytes += static_cast<std::int64_t>(document.text.size());
    }
    wanted.clear();
    return {};
  };
  for (const Change& change : changes) {
    if (building.text_bytes >= options_.text_bytes_max) break;
    publication.changes.push_back(change.id);
    if (change.kind != ChangeKind::Added || gone.contains(change.subject)) continue;
    if (std::binary_search(known.begin(), known.end(), change.subject)) continue;
    wanted.push_back({change.subject});
    if (wanted.size() == kCollectedAtOnce) TRY(add_wanted());
  }
  return add_wanted();
}

Result<> Packing::mask(const PackList& list, const Gone& gone, Publication& publication) {
  if (gone.files.empty() && gone.jobs.empty()) return {};
  for (const Segment& segment : list.segments) {
    TRY(go_on());
    TRY_ASSIGN(const auto pack, parts_.source.load(segment));
    TRY_ASSIGN(const std::shared_ptr<const Mask> before, parts_.source.load_mask(segment));
    Mask after = before ? *before : Mask(static_cast<std::size_t>(segment.documents));
    TRY_ASSIGN(std::vector<std::uint32_t> rows, pack->rows_of_files(gone.files));
    for (const std::int64_t job : gone.jobs) {
      TRY_ASSIGN(const std::vector<std::uint32_t> more, pack->rows_of_job(job));
      rows.insert(rows.end(), more.begin(), more.end());
    }
    for (const std::uint32_t row : rows) after.set(row);
    const std::int64_t masked = after.count();
    if (masked == segment.masked) continue;
    if (masked == segment.documents) {
      publication.retired.push_back(segment.id);
    } else {
      publication.masks.push_back({segment.id, after.to_bytes(), masked});
    }
  }
  return {};
}

Result<PackReport> Packing::swap(const Publication& publication, const PackRight& right) {
  const store::Fence fence{right.packers.value, right.token, right.orchestrator.value};
  const queue::PartitionId orchestrator = right.orchestrator;
  auto write = store::Fenced{fence, [&publication, orchestrator](Tx& tx) -> Result<Published> {
                               TRY_ASSIGN(const Published done, publish(tx, publication));
                               TRY(post_update(tx, publication, done.version, orchestrator));
                               return done;
                             }};
  const Result<Published> done = parts_.writer.run(queue::lane_of(right.packers), write);
  if (!done.ok()) return done.error();
  if (done->blob_adopted && !publication.added->put.place.empty()) {
    parts_.blobs.discard(publication.added->put.place);
  }
  PackReport report;
  report.published = true;
  report.version = done->version;
  if (publication.added) report.documents = publication.added->info.documents;
  for (const NewMask& mask : publication.masks) report.masked += mask.masked;
  return report;
}

Result<PackReport> Packing::incremental(const std::string& collection, const PackRight& right) {
  TRY(go_on());
  const std::size_t changes_max = options_.changes_max;
  TRY_ASSIGN(const Beginning begin, parts_.readers.run([&](Tx& tx) {
    return load_beginning(tx, collection, changes_max);
  }));
  const PackList& list = begin.list;
  if (list.forsaken ? list.segments.empty() && begin.changes.empty() : begin.changes.empty()) {
    return PackReport{};
  }
  Publication publication = publication_of(list);
  if (list.forsaken) {
    for (const Segment& segment : list.segments) publication.retired.push_back(segment.id);
    for (const Change& change : begin.changes) publication.changes.push_back(change.id);
    return swap(publication, right);
  }
  TRY_ASSIGN(Building building, Building::begin(parts_.source.folder(), stopping_));
  TRY(add_changed(list, begin.changes, building, publication));
  Gone gone;
  const std::set<std::int64_t> contained(publication.changes.begin(), publication.changes.end());
  for (const Change& change : begin.changes) {
    if (!contained.contains(change.id)) continue;
    if (change.kind == ChangeKind::Gone) gone.files.push_back(change.subject);
    if (change.kind == ChangeKind::JobGone) gone.jobs.push_back(change.subject);
  }
  TRY(mask(list, gone, publication));
  TRY_ASSIGN(publication.added, finish(building));
  TRY_ASSIGN(PackReport report, swap(publication, right));
  report.more =
      begin.changes.size() == changes_max || publication.changes.size() < begin.changes.size();
  return report;
}

Result<> Packing::add_all(const std::string& collection, Building& building) {
  tree::FileFilter filter;
  filter.listed = tree::Listed::Documents;
  filter.collection = collection;
  filter.limit = kCollectedAtOnce;
  while (true) {
    TRY(go_on());
    TRY_ASSIGN(const tree::FilePage page,
               parts_.readers.run([&filter](Tx& tx) { return tree::list_files(tx, filter); }));
    std::vector<tree::FileId> ids;
    for (const tree::File& file : page.files) ids.push_back(file.id);
    TRY_ASSIGN(const std::vector<PackDocument> documents,
               collect(parts_.readers, parts_.blobs, ids));
    for (const PackDocument& document : documents) TRY(building.builder.add(document));
    if (!page.next) return {};
    filter.after = page.next;
  }
}

// Changes that were made before are contained; those that come meanwhile stay, and what of them is
// in the pack already is known by its file.
Result<PackReport> Packing::full(const std::string& collection, const PackRight& right) {
  TRY(go_on());
  const std::size_t changes_max = options_.changes_max;
  TRY_ASSIGN(const Beginning begin, parts_.readers.run([&](Tx& tx) {
    return load_beginning(tx, collection, changes_max);
  }));
  if (begin.list.collection.value == 0) return PackReport{};
  if (begin.list.forsaken) return incremental(collection, right);
  Publication publication = publication_of(begin.list);
  for (const Segment& segment : begin.list.segments) publication.retired.push_back(segment.id);
  for (const Change& change : begin.changes) publication.changes.push_back(change.id);
  TRY_ASSIGN(Building building, Building::begin(parts_.source.folder(), stopping_));
  TRY(add_all(collection, building));
  TRY_ASSIGN(publication.added, finish(building));
  TRY_ASSIGN(PackReport report, swap(publication, right));
  report.more = begin.changes.size() == changes_max;
  return report;
}

// One of those that become one, as it was read.
struct Packing::Merged {
  Segment segment;
  std::shared_ptr<const Pack> pack;
  std::shared_ptr<const Mask> mask;
};

Result<std::vector<Packing::Merged>> Packing::add_merged(const std::vector<Segment>& chosen,
                                                         Building& building) {
  std::vector<Merged> merged;
  for (const Segment& segment : chosen) {
    TRY(go_on());
    Merged one{segment, {}, {}};
    TRY_ASSIGN(one.pack, parts_.source.load(segment));
    TRY_ASSIGN(one.mask, parts_.source.load_mask(segment));
    TRY(building.builder.add_all(*one.pack, one.mask.get()));
    merged.push_back(std::move(one));
  }
  return merged;
}

// What went while they were merged is masked in the new one. Conflict where one of them is gone.
Result<> Packing::mask_merged(const PackList& now, const std::vector<Merged>& merged,
                              NewSegment& added) {
  std::vector<std::int64_t> gone;
  for (const Merged& one : merged) {
    const auto live = std::find_if(now.segments.begin(), now.segments.end(),
                                   [&](const Segment& s) { return s.id == one.segment.id; });
    if (live == now.segments.end()) {
      return Error{Errc::Conflict, "what was merged has been replaced meanwhile"};
    }
    if (live->mask_version == one.segment.mask_version) continue;
    TRY_ASSIGN(const std::shared_ptr<const Mask> mask, parts_.source.load_mask(*live));
    const auto documents = static_cast<std::uint32_t>(one.segment.documents);
    for (std::uint32_t row = 1; mask != nullptr && row <= documents; ++row) {
      const bool before = one.mask != nullptr && one.mask->has(row);
      if (mask->has(row) && !before) gone.push_back(one.pack->file_of(row));
    }
  }
  TRY_ASSIGN(const auto pack, parts_.source.folder().find(added.info.digest));
  TRY_ASSIGN(const std::vector<std::uint32_t> rows, pack->rows_of_files(gone));
  Mask mask(static_cast<std::size_t>(added.info.documents));
  for (const std::uint32_t row : rows) mask.set(row);
  added.masked = mask.count();
  added.mask = mask.to_bytes();
  return {};
}

Result<PackReport> Packing::merge(const std::string& collection, const PackRight& right) {
  TRY(go_on());
  const auto load = [&](Tx& tx) { return load_beginning(tx, collection, 0); };
  TRY_ASSIGN(const Beginning begin, parts_.readers.run(load));
  const std::vector<Segment> chosen = choose_merge(begin.list.segments, options_);
  if (chosen.empty()) return PackReport{};
  TRY_ASSIGN(Building building, Building::begin(parts_.source.folder(), stopping_));
  TRY_ASSIGN(const std::vector<Merged> merged, add_merged(chosen, building));
  TRY_ASSIGN(std::optional<NewSegment> added, finish(building));
  // Others may publish meanwhile.
  for (int attempt = 0; attempt < kMergePublishAttempts; ++attempt) {
    TRY_ASSIGN(const Beginning now, parts_.readers.run(load));
    Publication publication = publication_of(now.list);
    for (const Segment& segment : chosen) publication.retired.push_back(segment.id);
    if (added) {
      const Result<> masked = mask_merged(now.list, merged, *added);
      if (!masked.ok() && masked.error().kind() == Errc::Stale) continue;
      TRY(masked);
      if (added->masked < added->info.documents) publication.added = added;
    }
    Result<PackReport> report = swap(publication, right);
    if (report.ok() || report.error().kind() != Errc::Conflict) return report;
  }
  return Error{Errc::Busy, "others publish all the time"};
}

std::vector<Segment> choose_merge(const std::vector<Segment>& segments,
                                  const PackingOptions& options) {
  std::map<int, std::vector<Segment>> by_size;
  for (const Segment& segment : segments) {
    if (segment.documents > options.merged_documents_max) continue;
    const double gaps = static_cast<double>(segment.masked);
    if (gaps > options.gaps_max * static_cast<double>(segment.documents)) return {segment};
    int tier = 0;
    for (std::int64_t size = segment.shown(); size > 1000; size /= 8) ++tier;
    by_size[tier].push_back(segment);
  }
  for (auto& [tier, same] : by_size) {
    if (same.size() < options.merge_fan_in) continue;
    std::int64_t documents = 0;
    std::vector<Segment> chosen;
    for (const Segment& segment : same) {
      if (documents + segment.shown() > options.merged_documents_max) break;
      documents += segment.shown();
      chosen.push_back(segment);
    }
    if (chosen.size() > 1) return chosen;
  }
  return {};
}

}  // namespace quern::search
