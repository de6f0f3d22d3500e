// Placement: which searcher is to hold which segment. Pure: the same state gives the same moves,
// and a state that needs none gives none, whoever looks.
//
//   - a segment that has too few holders goes to the searcher with the most free space that has
//   none
//   - one that nobody needs any more is dropped, when somebody holds each one that is needed: until
//     then the version before is searched. Where there is no room otherwise, it is dropped at once
//   - one with more holders than copies is dropped by the fullest of them, once the others hold it
//   - when all of that is done, one segment at a time moves from the fullest searcher to the
//     emptiest, where that evens them out: it is loaded there first, then dropped here
//   - one that is silent may be dead: nobody drops anything because it holds a copy, and nothing is
//     evened out
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace quern::search {

struct PlacedSegment {
  std::string digest;
  std::int64_t mb = 0;  // rounded up
};

struct PlacedSearcher {
  std::string id;
  std::int64_t free_mb = 0;        // as it said: without what it holds
  std::set<std::string> held;      // digests
  std::set<std::string> loading;   // ordered, not held yet
  std::set<std::string> dropping;  // ordered, still held
  bool silent = false;             // for a while
};

struct Move {
  enum class Kind { Load, Drop };
  Kind kind = Kind::Load;
  std::string searcher;
  std::string digest;

  friend bool operator==(const Move&, const Move&) = default;
};

// `kept` are digests that nobody needs but that may be searched for a moment yet.
std::vector<Move> place(const std::vector<PlacedSegment>& segments,
                        std::vector<PlacedSearcher> searchers, std::size_t copies,
                        const std::set<std::string>& kept);

// Whether something that is needed is held by this one and by none of the others.
bool holds_alone(const PlacedSearcher& one, const std::vector<PlacedSearcher>& others,
                 const std::vector<PlacedSegment>& segments);

}  // namespace quern::search
