#include "search/placement.h"

#include <algorithm>
#include <map>

namespace quern::search {
namespace {

class Placing {
 public:
  Placing(const std::vector<PlacedSegment>& segments, std::vector<PlacedSearcher> searchers,
          std::size_t copies)
      : searchers_(std::move(searchers)), copies_(std::min(copies, searchers_.size())) {
    for (const PlacedSegment& segment : segments) mb_[segment.digest] = segment.mb;
    for (PlacedSearcher& one : searchers_) {
      for (const std::string& digest : one.loading) one.free_mb -= size_of(digest);
    }
  }

  // It may not even be there to be loaded any more.
  void call_off(const std::set<std::string>& kept) {
    for (PlacedSearcher& one : searchers_) {
      const std::set<std::string> loading = one.loading;
      for (const std::string& digest : loading) {
        if (mb_.contains(digest) || kept.contains(digest)) continue;
        one.loading.erase(digest);
        drop(one, digest);
      }
    }
  }

  void drop_unneeded(const std::set<std::string>& kept) {
    if (is_coming()) return;
    for (PlacedSearcher& one : searchers_) {
      for (const std::string& digest : one.held) {
        const bool needed = mb_.contains(digest) || kept.contains(digest);
        if (!needed && !one.dropping.contains(digest)) drop(one, digest);
      }
    }
  }

  // The largest first: they are the hardest to place.
  void load_missing() {
    std::vector<std::pair<std::int64_t, std::string>> by_size;
    for (const auto& [digest, mb] : mb_) by_size.emplace_back(-mb, digest);
    std::sort(by_size.begin(), by_size.end());
    for (const auto& [size, digest] : by_size) {
      while (count(digest, true) < copies_) {
        PlacedSearcher* best = roomiest_without(digest);
        if (best == nullptr) break;
        load(*best, digest);
      }
    }
  }

  void drop_surplus() {
    for (const auto& [digest, mb] : mb_) {
      while (count_speaking(digest) > copies_) {
        PlacedSearcher* fullest = nullptr;
        for (PlacedSearcher& one : searchers_) {
          if (!holds(one, digest) || one.silent) continue;
          if (fullest == nullptr || fill(one) > fill(*fullest)) fullest = &one;
        }
        drop(*fullest, digest);
      }
    }
  }

  // Only where nothing else is under way.
  void even_out() {
    if (!moves_.empty() || searchers_.size() < 2) return;
    for (const PlacedSearcher& one : searchers_) {
      if (!one.loading.empty() || !one.dropping.empty() || one.silent) return;
    }
    const auto by_fill = [this](const PlacedSearcher& a, const PlacedSearcher& b) {
      return fill(a) < fill(b);
    };
    const auto [emptiest, fullest] =
        std::minmax_element(searchers_.begin(), searchers_.end(), by_fill);
    for (const std::string& digest : fullest->held) {
      const std::int64_t mb = size_of(digest);
      if (mb == 0 || emptiest->held.contains(digest) || emptiest->free_mb < mb) continue;
      // Better for both, or it would go back with the next round.
      const double from = share(used(*fullest) - mb, *fullest);
      const double to = share(used(*emptiest) + mb, *emptiest);
      if (to > from) continue;
      load(*emptiest, digest);
      return;
    }
  }

  std::vector<Move> take() { return std::move(moves_); }

 private:
  // Whether what is needed will be held by somebody, and is not yet.
  bool is_coming() const {
    bool coming = false;
    for (const auto& [digest, mb] : mb_) {
      if (count(digest, true) == 0) return false;  // there is no room
      coming = coming || count(digest, false) == 0;
    }
    return coming;
  }
  std::int64_t size_of(const std::string& digest) const {
    const auto found = mb_.find(digest);
    return found == mb_.end() ? 0 : found->second;
  }
  static bool holds(const PlacedSearcher& one, const std::string& digest) {
    return one.held.contains(digest) && !one.dropping.contains(digest);
  }
  std::size_t count(const std::string& digest, bool with_loading) const {
    return static_cast<std::size_t>(
        std::count_if(searchers_.begin(), searchers_.end(), [&](const PlacedSearcher& one) {
          return holds(one, digest) || (with_loading && one.loading.contains(digest));
        }));
  }
  std::size_t count_speaking(const std::string& digest) const {
    return static_cast<std::size_t>(std::count_if(
        searchers_.begin(), searchers_.end(),
        [&](const PlacedSearcher& one) { return holds(one, digest) && !one.silent; }));
  }
  std::int64_t used(const PlacedSearcher& one) const {
    std::int64_t mb = 0;
    for (const std::string& digest : one.held) mb += size_of(digest);
    return mb;
  }
  double share(std::int64_t mb, const PlacedSearcher& one) const {
    const std::int64_t room = std::max<std::int64_t>(one.free_mb + used(one), 1);
    return static_cast<double>(mb) / static_cast<double>(room);
  }
  double fill(const PlacedSearcher& one) const { return share(used(one), one); }

  PlacedSearcher* roomiest_without(const std::string& digest) {
    PlacedSearcher* best = nullptr;
    for (PlacedSearcher& one : searchers_) {
      // One that is about to drop it must have done so first.
      if (one.held.contains(digest) || one.loading.contains(digest)) continue;
      if (one.free_mb < size_of(digest)) continue;
      if (best == nullptr || one.free_mb > best->free_mb) best = &one;
    }
    return best;
  }
  void load(PlacedSearcher& one, const std::string& digest) {
    one.loading.insert(digest);
    one.free_mb -= size_of(digest);
    moves_.push_back({Move::Kind::Load, one.id, digest});
  }
  void drop(PlacedSearcher& one, const std::string& digest) {
    one.dropping.insert(digest);
    moves_.push_back({Move::Kind::Drop, one.id, digest});
  }

  std::vector<PlacedSearcher> searchers_;
  const std::size_t copies_;
  std::map<std::string, std::int64_t> mb_;  // of what is needed
  std::vector<Move> moves_;
};

}  // namespace

std::vector<Move> place(const std::vector<PlacedSegment>& segments,
                        std::vector<PlacedSearcher> searchers, std::size_t copies,
                        const std::set<std::string>& kept) {
  std::sort(searchers.begin(), searchers.end(),
            [](const PlacedSearcher& a, const PlacedSearcher& b) { return a.id < b.id; });
  Placing placing(segments, std::move(searchers), copies);
  placing.call_off(kept);
  placing.load_missing();
  placing.drop_unneeded(kept);
  placing.drop_surplus();
  placing.even_out();
  return placing.take();
}

bool holds_alone(const PlacedSearcher& one, const std::vector<PlacedSearcher>& others,
                 const std::vector<PlacedSegment>& segments) {
  return std::any_of(segments.begin(), segments.end(), [&](const PlacedSegment& segment) {
    return one.held.contains(segment.digest) &&
           std::none_of(others.begin(), others.end(), [&](const PlacedSearcher& other) {
             return other.held.contains(segment.digest);
           });
  });
}

}  // namespace quern::search
