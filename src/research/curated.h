// Episodes and clips, as curators gave them.
//
// Guarantee: what is curated again is updated in place, never a second row. The initial curation
// date never changes; the latest one is that of the last curation. A change of the media gives a
// clip a new number, so exactly its pairs are open again.
//
// An episode is researched with all clips that are ready, of whatever collection, as the seed has
// it; a collection only says where its document is found.
//
// Functions run on the writer, or in a read where they only load. Those that change what is open
// lock the pool's row first (lease.h): run them alone (store::Alone).
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/tx.h"
#include "tree/file.h"

namespace quern::research {

enum class Kind { Episode = 1, Clip = 2 };
std::string_view to_string(Kind kind);  // "episode"

// Pending: its bytes are to be fetched. Ready: they are here, and it takes part. Failed: they could
// not be had; `problem` says why, and curating it again tries again. What is ready stays so while
// another version of it is fetched, and where that cannot be had (`problem` says so).
enum class MediaState { Pending = 1, Ready = 2, Failed = 3 };
std::string_view to_string(MediaState state);  // "pending"

using CuratedId = std::int64_t;  // of episodes and clips together

// Something that a curator offers. It is recognised, within the collection of its job, by `key`;
// else by `url` (one with a key only where the row of that address has none); else, without a key,
// by its title and the date it was aired from the same `source`, where it has all but the date.
struct CuratedOrder {
  Kind kind = Kind::Episode;
  std::string collection;  // "": that of its job, which it must be
  std::string key;         // "guid:FEED GUID", "sha256:HEX" of a file; "" for a bare address
  std::string url;         // where its media is; "" of a file
  std::string source;      // the feed, or who curates; ""
  std::string title;
  std::string description;
  std::string aired;                     // RFC 3339, of episodes; ""
  std::optional<std::int64_t> priority;  // left as it is where it is not given; 0 at first
  boost::json::object metadata;
  std::optional<tree::FileId> file;  // its media, where that is a file of the tree already
  tree::JobId job;                   // that fetches, or has brought it
};

struct Curated {
  CuratedId id = 0;
  Kind kind = Kind::Episode;
  std::string collection;
  std::string key, url, source, title, description, aired;
  std::int64_t priority = 0;
  std::int64_t initial_us = 0;
  std::int64_t latest_us = 0;
  boost::json::object metadata;
  MediaState media = MediaState::Pending;
  std::string problem;
  tree::JobId job;
  std::optional<tree::FileId> file;
  std::string sha256;  // hexadecimal, once it is ready
  std::int64_t bytes = 0;
  std::string content_type;
  std::int64_t number = 0;  // of clips that are ready; another one after each change of the media
  std::int64_t duration_ns = 0;  // once a researcher has told
};

inline constexpr std::size_t kTitleBytesMax = 1000;
inline constexpr std::size_t kDescriptionBytesMax = 64 * 1024;
inline constexpr std::size_t kUrlBytesMax = 4096;  // also of keys and sources
inline constexpr std::size_t kMetadataBytesMax = 64 * 1024;
inline constexpr std::int64_t kPriorityMax = 1'000'000'000;  // and as much below 0
inline constexpr std::size_t kCuratedListedMax = 1000;
inline constexpr std::int64_t kCuratedRemovedAtOnce = 20;

enum class CuratedChange { New, Updated, Same };
struct CurateOutcome {
  CuratedId id = 0;
  CuratedChange change = CuratedChange::New;
  bool fetch = false;  // its media is to be fetched: it has none, or one of another address
};

// Invalid where something is too long or of no sense; Missing where its job or its file is. Texts
// must be valid UTF-8.
Result<CurateOutcome> curate(store::Tx& tx, const CuratedOrder& order);

// Its media has come, as a file of the tree, or could not be had. Where its bytes are others than
// before, what was found in the old ones is removed, and all its pairs are open again. Whether they
// are. Again: changes nothing. Missing where it or the file is gone.
struct MediaArrived {
  tree::FileId file;
  std::string sha256;  // hexadecimal
  std::int64_t bytes = 0;
  std::string content_type;
};
Result<bool> media_arrived(store::Tx& tx, CuratedId id, const MediaArrived& media);
Result<> media_failed(store::Tx& tx, CuratedId id, const std::string& problem);
// Whether its media is here, and was fetched from that address: another version of it may be on its
// way, or could not be had.
Result<bool> has_media_of(store::Tx& tx, const Curated& curated, const std::string& url);

Result<Curated> load_curated(store::Tx& tx, Kind kind, CuratedId id);  // Missing
Result<Curated> load_curated(store::Tx& tx, CuratedId id);             // Missing; of either kind
struct CuratedFilter {
  Kind kind = Kind::Episode;
  std::string collection;  // "": all
  CuratedId after = 0;
  std::size_t limit = 100;
};
Result<std::vector<Curated>> list_curated(store::Tx& tx, const CuratedFilter& filter);
Result<> set_priority(store::Tx& tx, Kind kind, CuratedId id, std::int64_t priority);  // Missing
// With its results and fingerprints; leases on an episode end. The document stays until its job is
// deleted.
Result<> remove_curated(store::Tx& tx, Kind kind, CuratedId id);  // Missing
// Rows that name files of a job that is being deleted go with it; whether nothing is left.
Result<bool> remove_curated_of_job(store::Tx& tx, tree::JobId job);

}  // namespace quern::research
