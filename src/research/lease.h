// Work assignment: capacity, selection, leases and their publication (seed 002).
//
// Guarantee: no pair of episode and clip is under two live leases. A lease is published in the
// transaction that makes it (a row that nobody has taken is the waiting item), so there is nothing
// between the two to die in. An item waits for offer_ms at most, which is shorter than the lease:
// what nobody took goes before its lease ends. A lease that ended gives its undone clips back
// without anybody's help, since only live leases are looked at.
//
// How: every assigner locks the one row of research_pool, so several at once take turns. Pairs are
// not rows: of an episode we keep the set of clip numbers that were researched (ClipSet), and the
// generation of clips at which nothing was left of it. A new clip raises the generation and touches
// no episode. An assigner reads the leases before the sets: what a report takes out of a lease it
// has put into the set.
//
// An episode is researched with every clip that is ready, of whatever collection.
//
// Run on the writer, those that say so alone (store::Alone): they hold the pool until they commit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "research/clip_set.h"
#include "research/curated.h"
#include "research/options.h"

namespace quern::research {

struct Lease {
  std::string id;  // a UUID
  CuratedId episode = 0;
  std::vector<CuratedId> clips;  // by priority, as they were chosen
  std::int64_t expires_us = 0;
};

// What an item holds when it is handed out.
struct WorkItem {
  Lease lease;
  Curated episode;
  std::vector<Curated> clips;
};

// The seed's arithmetic: whether to add one more item. Position 0 adds, so adding stops at waiting
// = researchers + 1; with nobody there, one item waits.
bool wants_more(std::int64_t researchers, std::int64_t waiting);

// Adds items until there are enough or nothing is left to lease; how many it added. Also removes
// leases that ended and items that waited too long. Work bounded by kCandidatesPerRun episodes:
// `more` says that it is to be called again.
struct Assigned {
  std::int64_t added = 0;
  bool more = false;
  bool nothing_open = false;  // no pair is left that is not researched or leased; only known
                              // where it looked, not where there were enough items
};
Result<Assigned> assign(store::Tx& tx, const Options& options);  // alone

// A researcher asks: it counts from now on. The oldest waiting item, from now on its own, with a
// fresh expiry; nullopt where none waits. Never one whose offer or lease has ended, and of its
// clips only those that are still to be done. Invalid where the name is none.
Result<std::optional<WorkItem>> take_work(store::Tx& tx, const std::string& researcher,
                                          const Options& options);
// While it holds its poll.
Result<> note_researcher(store::Tx& tx, const std::string& researcher);
// An item that did not reach its researcher, or that it gives back: its clips are free again.
Result<> drop_lease(store::Tx& tx, const std::string& id);
Result<> validate_researcher(std::string_view name);
// Whether an item waits that can be taken.
Result<bool> has_waiting(store::Tx& tx);

struct ResearchStatus {
  std::int64_t researchers = 0;
  std::int64_t waiting = 0;                     // items
  std::int64_t taken = 0;                       // leases at work
  std::int64_t episodes = 0, clips = 0;         // ready ones
  std::int64_t fetching = 0, media_failed = 0;  // episodes and clips
  std::int64_t results = 0, found = 0, failed = 0, dead_letters = 0;
  bool nothing_open = false;  // each episode is known to be researched with each clip
  bool idle = false;          // moreover nothing is leased or being fetched
};
Result<ResearchStatus> load_status(store::Tx& tx, const Options& options);

// Raised when researchers are to look again: pairs of an older version are open again, lazily. A
// lower one changes nothing. Alone.
Result<> set_algorithm(store::Tx& tx, std::int64_t version);

}  // namespace quern::research
