#include "search/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "search/snippet.h"

namespace quern::search {
namespace {

struct Winner {
  Found found;
  const GroupMember* member = nullptr;
};

}  // namespace

Result<Frequencies> count_tokens(const std::vector<GroupMember>& members,
                                 const std::vector<std::string>& tokens) {
  Frequencies sum;
  for (const GroupMember& member : members) {
    TRY_ASSIGN(const Frequencies one, member.pack->frequencies(tokens));
    sum.add(one);
  }
  return sum;
}

Result<GroupAnswer> search_group(const std::vector<GroupMember>& members, const GroupOrder& order) {
  GroupAnswer answer;
  std::vector<Winner> winners;
  for (const GroupMember& member : members) {
    Question question;
    question.query = &order.query;
    question.frequencies = &order.frequencies;
    question.mask = member.mask.get();
    question.hidden_jobs = order.hidden_jobs;
    question.only_jobs = order.only_jobs ? &*order.only_jobs : nullptr;
    question.sort = order.sort;
    question.limit = order.limit;
    question.after = order.after;
    question.facets = order.facets;
    TRY_ASSIGN(const Answer one, member.pack->search(question));
    for (const Found& found : one.found) winners.push_back({found, &member});
    answer.total += one.total;
    answer.exact = answer.exact && one.exact;
    if (!order.facets) continue;
    if (one.total > 0) answer.collections[member.collection] += one.total;
    for (const auto& [type, count] : one.types) answer.types[type] += count;
    for (const auto& [year, count] : one.years) answer.years[year] += count;
  }
  std::sort(winners.begin(), winners.end(), [&](const Winner& a, const Winner& b) {
    return goes_before(order.sort, a.found.place, b.found.place);
  });
  if (winners.size() > order.limit) winners.resize(order.limit);
  Highlighter highlighter(order.query);
  for (const Winner& winner : winners) {
    TRY_ASSIGN(Hit hit, winner.member->pack->show(winner.found.row, highlighter));
    answer.hits.push_back({winner.found.place, winner.member->collection, std::move(hit)});
  }
  return answer;
}

void merge_into(GroupAnswer& answer, GroupAnswer more, Sort sort, std::size_t limit) {
  std::move(more.hits.begin(), more.hits.end(), std::back_inserter(answer.hits));
  std::sort(answer.hits.begin(), answer.hits.end(), [&](const GroupHit& a, const GroupHit& b) {
    return goes_before(sort, a.place, b.place);
  });
  if (answer.hits.size() > limit) answer.hits.resize(limit);
  answer.total += more.total;
  answer.exact = answer.exact && more.exact;
  for (const auto& [type, count] : more.types) answer.types[type] += count;
  for (const auto& [name, count] : more.collections) answer.collections[name] += count;
  for (const auto& [year, count] : more.years) answer.years[year] += count;
}

Result<std::vector<Suggestion>> suggest_group(const std::vector<GroupMember>& members,
                                              const std::string& beginning, std::size_t limit) {
  std::map<std::string, std::int64_t> found;
  for (const GroupMember& member : members) {
    TRY_ASSIGN(const std::vector<Suggestion> some, member.pack->suggest(beginning, limit));
    for (const Suggestion& one : some) found[one.word] += one.documents;
  }
  std::vector<Suggestion> best;
  for (const auto& [word, documents] : found) best.push_back({word, documents});
  std::stable_sort(best.begin(), best.end(), [](const Suggestion& a, const Suggestion& b) {
    return a.documents > b.documents;
  });
  if (best.size() > limit) best.resize(limit);
  return best;
}

std::string_view to_string(Sort sort) {
  constexpr std::string_view kNames[] = {"relevance", "newest", "oldest"};
  return kNames[static_cast<int>(sort)];
}

std::optional<Sort> parse_sort(std::string_view text) {
  for (const Sort sort : {Sort::Relevance, Sort::Newest, Sort::Oldest}) {
    if (text == to_string(sort)) return sort;
  }
  if (text == "date") return Sort::Newest;
  return std::nullopt;
}

std::string day_text(std::int32_t day) {
  if (day == kNoDay) return "";
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

}  // namespace quern::search
