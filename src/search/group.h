// Group: several segments that one process searches together, and the answer that groups give and
// that is merged from them. The wire form of both is JSON, for searchers on other machines.
//
// Functions block as far as packs do (they read files), and need no lock.
#pragma once

#include <boost/json/object.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "search/pack.h"

namespace quern::search {

inline constexpr std::size_t kHitsMax = 200;
// Values of one facet that are told.
inline constexpr std::size_t kFacetValuesMax = 100;

struct GroupMember {
  std::shared_ptr<const Pack> pack;
  std::shared_ptr<const Mask> mask;  // null: nothing is masked
  std::string collection;
};

struct GroupOrder {
  Query query;
  Frequencies frequencies;
  std::vector<std::int64_t> hidden_jobs;
  std::optional<std::vector<std::int64_t>> only_jobs;
  Sort sort = Sort::Relevance;
  std::size_t limit = 10;
  std::optional<Place> after;
  bool facets = false;
};

struct GroupHit {
  Place place;
  std::string collection;
  Hit hit;
};

struct GroupAnswer {
  std::vector<GroupHit> hits;  // in order, at most `limit`
  std::int64_t total = 0;
  bool exact = true;
  std::map<std::string, std::int64_t> types;
  std::map<std::string, std::int64_t> collections;
  std::map<std::int32_t, std::int64_t> years;
};

Result<Frequencies> count_tokens(const std::vector<GroupMember>& members,
                                 const std::vector<std::string>& tokens);
Result<GroupAnswer> search_group(const std::vector<GroupMember>& members, const GroupOrder& order);
// The best of both, in one order; `more` is used up.
void merge_into(GroupAnswer& answer, GroupAnswer more, Sort sort, std::size_t limit);

// The most frequent words with that beginning over all members.
Result<std::vector<Suggestion>> suggest_group(const std::vector<GroupMember>& members,
                                              const std::string& beginning, std::size_t limit);

// The wire. Corrupt where an object is not what it should be.
boost::json::object to_json(const Frequencies& frequencies);
Result<Frequencies> frequencies_from(const boost::json::value& value);
boost::json::object to_json(const Place& place);
Result<Place> place_from(const boost::json::value& value);
boost::json::object to_json(const GroupAnswer& answer);
Result<GroupAnswer> answer_from(const boost::json::value& value);
std::string_view to_string(Sort sort);
std::optional<Sort> parse_sort(std::string_view text);
// "2020-05-17"; empty for kNoDay.
std::string day_text(std::int32_t day);

}  // namespace quern::search
