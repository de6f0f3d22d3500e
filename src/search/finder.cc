#include "search/finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>
#include <thread>

#include "base/log.h"
#include "queue/await.h"
#include "search/words.h"

namespace quern::search {
namespace {

namespace json = boost::json;

constexpr std::size_t kAnswerBytesMax = 16 * 1024 * 1024;
constexpr std::size_t kClientsMax = 1000;

int threads_of(const FinderOptions& options) {
  if (options.threads > 0) return options.threads;
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

bool is_wanted(const std::string& collection, const SearchOrder& order, const Query& query) {
  const auto has = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), collection) != names.end();
  };
  if (!order.collections.empty() && !has(order.collections)) return false;
  if (!query.collections.any.empty() && !has(query.collections.any)) return false;
  return !has(query.collections.none);
}

// An answer without a collection that was asked for would be half an answer.
Result<> expect_loaded(const Snapshot& snapshot, const SearchOrder& order, const Query& query) {
  for (const auto& [name, why] : snapshot.loading) {
    if (!is_wanted(name, order, query)) continue;
    return Error{Errc::Unavailable, fmt::format("the search is loading '{}': {}", name, why)};
  }
  return {};
}

// The last word of what was typed, folded; empty where it ends with none.
std::string last_word(std::string_view text) {
  WordCutter cutter;
  cutter.begin(text);
  std::string last;
  Token token;
  while (cutter.next(token)) {
    const bool ends_here = token.end == text.size();
    if (token.kind == Token::Kind::Word) last = ends_here ? std::string(token.text) : "";
  }
  return last;
}

}  // namespace

// Who is asked for what.
struct Finder::Plan {
  std::vector<GroupMember> local;
  std::map<std::string, std::vector<json::object>> remote;  // segments by address
  std::shared_ptr<Addresses> refused;
  json::array digests(const std::string& address) const {
    json::array all;
    for (const json::object& one : remote.at(address)) all.push_back(one.at("digest"));
    return all;
  }
};

// Answers that are being waited for.
struct Finder::Gathering {
  explicit Gathering(net::Loop& loop) : changed(loop) {}
  std::size_t open = 0;
  std::vector<json::value> answers;
  std::optional<Error> failed;
  std::shared_ptr<Addresses> refused;
  net::Event changed;
};

Finder::Finder(net::Loop& loop, Catalog& catalog, FinderOptions options)
    : loop_(loop),
      catalog_(catalog),
      options_(options),
      pool_({.threads = threads_of(options), .queue_max = 4096}) {}

Finder::~Finder() {
  stop();
}

// Where none is left all of them may be asked: one more try costs less than no answer.
std::vector<std::string> Finder::able_of(const ServedSegment& segment,
                                         const Addresses& refused) const {
  std::vector<std::string> able;
  for (const std::string& address : segment.addresses) {
    const auto shunned = shunned_.find(address);
    const bool shuns = shunned != shunned_.end() && shunned->second >= net::in_ms(0);
    if (!shuns && !refused.contains(address)) able.push_back(address);
  }
  return able.empty() && segment.pack == nullptr ? segment.addresses : able;
}

Result<Finder::Plan> Finder::plan(const Snapshot& snapshot, const SearchOrder& order,
                                  const Query& query, std::shared_ptr<Addresses> refused) {
  Plan made;
  made.refused = std::move(refused);
  ++turn_;
  for (const ServedCollection& collection : snapshot.collections) {
    if (!is_wanted(collection.name, order, query)) continue;
    for (const ServedSegment& one : collection.segments) {
      const std::vector<std::string> able = able_of(one, *made.refused);
      // Ourselves are one of those who can.
      const std::size_t choices = able.size() + (one.pack != nullptr ? 1 : 0);
      if (choices == 0) {
        return Error{Errc::Unavailable,
                     fmt::format("no searcher answers for a part of '{}'; it will be given to "
                                 "another in some seconds",
                                 collection.name)};
      }
      const std::size_t chosen = turn_ % choices;
      if (chosen == able.size()) {
        made.local.push_back({one.pack, one.mask, collection.name});
        continue;
      }
      made.remote[able[chosen]].push_back({{"digest", one.segment.digest},
                                           {"collection", collection.name},
                                           {"mask_version", one.segment.mask_version},
                                           {"masked", one.segment.masked}});
    }
  }
  return made;
}

net::Task<Result<GroupAnswer>> Finder::run_local(std::shared_ptr<const Plan> plan,
                                                 GroupOrder order) {
  auto search_here = [plan, order = std::move(order)]() mutable -> Result<GroupAnswer> {
    TRY_ASSIGN(order.frequencies, count_tokens(plan->local, tokens_of(order.query)));
    return search_group(plan->local, order);
  };
  co_return co_await queue::offload(loop_, pool_, std::move(search_here));
}

std::shared_ptr<net::Client> Finder::client_of(const std::string& address) {
  const auto known = clients_.find(address);
  if (known != clients_.end()) return known->second;
  if (clients_.size() >= kClientsMax) clients_.clear();
  const Result<net::Endpoint> endpoint = net::Endpoint::parse(address);
  if (!endpoint.ok()) return nullptr;
  net::ClientOptions options;
  options.connect_ms = options_.remote_ms / 4;
  options.first_byte_ms = options_.remote_ms;
  options.stall_ms = options_.remote_ms;
  options.idle_max = 64;
  return clients_[address] = std::make_shared<net::Client>(loop_, *endpoint, options);
}

net::Task<> Finder::ask_one(std::shared_ptr<Gathering> gathering, std::string address,
                            std::string target, std::string body) {
  const std::shared_ptr<net::Client> client = client_of(address);
  Result<net::Response> response = Error{Errc::Invalid, fmt::format("'{}' is no address", address)};
  if (client != nullptr) {
    net::Request request = net::post_request(target, std::move(body), "application/json");
    request.repeat = net::Repeat::Always;
    response = co_await client->fetch(std::move(request), kAnswerBytesMax);
  }
  boost::system::error_code failed;
  if (response.ok() && response->status == 200) {
    json::value answer = json::parse(response->body, failed);
    if (!failed) gathering->answers.push_back(std::move(answer));
  }
  const bool refused = response.ok() && response->status != 200;
  if (!response.ok() || refused || failed) {
    const std::string why = response.ok() ? response->body : response.error().message();
    gathering->failed = Error{Errc::Unavailable, fmt::format("searcher {}: {}", address, why)};
    // One that has another version than we think is no worse than we are: we look again.
    if (!refused) shunned_[address] = net::in_ms(options_.shunned_ms);
    gathering->refused->insert(address);
    log_debug("search.searcher_failed", {{"address", address}, {"error", why}});
  }
  --gathering->open;
  gathering->changed.notify_all();
}

net::Task<Result<std::vector<json::value>>> Finder::ask_all(
    std::shared_ptr<const Plan> plan, std::string target,
    std::map<std::string, std::string> bodies) {
  auto gathering = std::make_shared<Gathering>(loop_);
  gathering->refused = plan->refused;
  gathering->open = bodies.size();
  for (auto& [address, body] : bodies) {
    loop_.spawn("search.ask", ask_one(gathering, address, target, std::move(body)));
  }
  while (gathering->open > 0) co_await gathering->changed.wait();
  if (gathering->failed) co_return *gathering->failed;
  co_return std::move(gathering->answers);
}

net::Task<Result<GroupAnswer>> Finder::run_remote(std::shared_ptr<const Plan> plan,
                                                  GroupOrder order, std::string text) {
  const std::vector<std::string> tokens = tokens_of(order.query);
  std::map<std::string, std::string> bodies;
  for (const auto& [address, segments] : plan->remote) {
    bodies[address] =
        json::serialize(json::object{{"segments", plan->digests(address)},
                                     {"tokens", json::array(tokens.begin(), tokens.end())}});
  }
  CO_TRY_ASSIGN(const std::vector<json::value> counts,
                co_await ask_all(plan, "/searcher/v1/count", std::move(bodies)));
  auto count_here = [plan, tokens] { return count_tokens(plan->local, tokens); };
  CO_TRY_ASSIGN(order.frequencies, co_await queue::offload(loop_, pool_, std::move(count_here)));
  for (const json::value& one : counts) {
    CO_TRY_ASSIGN(const Frequencies more, frequencies_from(one));
    order.frequencies.add(more);
  }
  json::object body{
      {"text", text},
      {"frequencies", to_json(order.frequencies)},
      {"hidden_jobs", json::array(order.hidden_jobs.begin(), order.hidden_jobs.end())},
      {"sort", to_string(order.sort)},
      {"limit", static_cast<std::int64_t>(order.limit)},
      {"facets", order.facets}};
  if (order.after) body["after"] = to_json(*order.after);
  if (order.only_jobs) {
    body["only_jobs"] = json::array(order.only_jobs->begin(), order.only_jobs->end());
  }
  bodies.clear();
  for (const auto& [address, segments] : plan->remote) {
    body["segments"] = json::array(segments.begin(), segments.end());
    bodies[address] = json::serialize(body);
  }
  CO_TRY_ASSIGN(const std::vector<json::value> answers,
                co_await ask_all(plan, "/searcher/v1/search", std::move(bodies)));
  auto search_here = [plan, order] { return search_group(plan->local, order); };
  CO_TRY_ASSIGN(GroupAnswer all, co_await queue::offload(loop_, pool_, std::move(search_here)));
  for (const json::value& one : answers) {
    CO_TRY_ASSIGN(GroupAnswer more, answer_from(one));
    merge_into(all, std::move(more), order.sort, order.limit);
  }
  co_return all;
}

net::Task<Result<GroupAnswer>> Finder::run(std::shared_ptr<const Plan> plan, SearchOrder order,
                                           Query query, std::vector<std::int64_t> hidden_jobs) {
  GroupOrder wanted;
  wanted.query = std::move(query);
  wanted.hidden_jobs = std::move(hidden_jobs);
  wanted.hidden_jobs.insert(wanted.hidden_jobs.end(), order.not_jobs.begin(), order.not_jobs.end());
  wanted.only_jobs = order.only_jobs;
  wanted.sort = order.sort;
  wanted.limit = std::min(order.limit, kHitsMax);
  wanted.after = order.after;
  wanted.facets = order.facets;
  if (plan->remote.empty()) co_return co_await run_local(plan, std::move(wanted));
  // Searchers parse for themselves; of a relaxed query they are told.
  std::string text = order.any_word ? "any:" + order.text : "all:" + order.text;
  co_return co_await run_remote(plan, std::move(wanted), std::move(text));
}

net::Task<Result<SearchAnswer>> Finder::search(SearchOrder order) {
  SearchAnswer answer;
  answer.query = parse_query(order.text);
  answer.any_word = order.any_word;
  const auto refused = std::make_shared<Addresses>();
  Error last{Errc::Unavailable, "the search is starting"};
  for (int attempt = 0; attempt < options_.attempts_max; ++attempt) {
    const Catalog::Age age = attempt == 0 ? order.age : Catalog::Age::Newest;
    CO_TRY_ASSIGN(const SnapshotPtr snapshot, co_await catalog_.current(age));
    CO_TRY(expect_loaded(*snapshot, order, answer.query));
    const Query& strict = answer.query;
    std::optional<Query> loose = relaxed(strict);
    const Query query = order.any_word && loose ? *loose : strict;
    Result<Plan> made = plan(*snapshot, order, query, refused);
    if (!made.ok()) {
      last = made.error();
      continue;
    }
    const auto shared = std::make_shared<const Plan>(*std::move(made));
    Result<GroupAnswer> found = co_await run(shared, order, query, snapshot->hidden_jobs);
    const bool nothing = found.ok() && found->total == 0 && !order.after;
    if (nothing && loose && !order.any_word) {
      SearchOrder again = order;
      again.any_word = true;
      found = co_await run(shared, again, *loose, snapshot->hidden_jobs);
      answer.any_word = found.ok() && found->total > 0;
    }
    if (found.ok()) {
      answer.found = *std::move(found);
      co_return answer;
    }
    last = found.error();
    if (shared->remote.empty()) break;
  }
  co_return last;
}

net::Task<Result<std::vector<Suggestion>>> Finder::suggest(std::string text,
                                                           std::vector<std::string> collections,
                                                           std::size_t limit) {
  const std::string word = last_word(text);
  if (word.empty()) co_return std::vector<Suggestion>();
  SearchOrder order;
  order.collections = std::move(collections);
  const auto refused = std::make_shared<Addresses>();
  Error last{Errc::Unavailable, "the search is starting"};
  for (int attempt = 0; attempt < options_.attempts_max; ++attempt) {
    const Catalog::Age age = attempt == 0 ? Catalog::Age::Fresh : Catalog::Age::Newest;
    CO_TRY_ASSIGN(const SnapshotPtr snapshot, co_await catalog_.current(age));
    Result<Plan> made = plan(*snapshot, order, Query{}, refused);
    if (!made.ok()) {
      last = made.error();
      continue;
    }
    const auto shared = std::make_shared<const Plan>(*std::move(made));
    Result<std::vector<Suggestion>> found =
        co_await suggest_once(shared, word, std::min(limit, kSuggestionsMax));
    if (found.ok() || shared->remote.empty()) co_return found;
    last = found.error();
  }
  co_return last;
}

net::Task<Result<std::vector<Suggestion>>> Finder::suggest_once(std::shared_ptr<const Plan> plan,
                                                                std::string word,
                                                                std::size_t limit) {
  auto suggest_here = [plan, word, limit] { return suggest_group(plan->local, word, limit); };
  CO_TRY_ASSIGN(std::vector<Suggestion> all,
                co_await queue::offload(loop_, pool_, std::move(suggest_here)));
  std::map<std::string, std::string> bodies;
  for (const auto& [address, segments] : plan->remote) {
    bodies[address] = json::serialize(json::object{{"segments", plan->digests(address)},
                                                   {"word", word},
                                                   {"limit", static_cast<std::int64_t>(limit)}});
  }
  CO_TRY_ASSIGN(const std::vector<json::value> answers,
                co_await ask_all(plan, "/searcher/v1/suggest", std::move(bodies)));
  std::map<std::string, std::int64_t> sums;
  for (const Suggestion& one : all) sums[one.word] += one.documents;
  for (const json::value& answer : answers) {
    const json::object* words = answer.if_object();
    if (words == nullptr) continue;
    for (const auto& [found, documents] : *words) {
      if (documents.is_int64()) sums[std::string(found)] += documents.get_int64();
    }
  }
  all.clear();
  for (const auto& [found, documents] : sums) all.push_back({found, documents});
  std::stable_sort(all.begin(), all.end(), [](const Suggestion& a, const Suggestion& b) {
    return a.documents > b.documents;
  });
  if (all.size() > limit) all.resize(limit);
  co_return all;
}

}  // namespace quern::search
