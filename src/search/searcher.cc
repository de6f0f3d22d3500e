#include "search/searcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <thread>

#include "base/log.h"
#include "net/target.h"
#include "queue/await.h"
#include "search/pack_file.h"
#include "search/registration.h"

namespace quern::search {
namespace {

namespace json = boost::json;

constexpr std::size_t kQuestionBytesMax = 1024 * 1024;
constexpr std::size_t kServerAnswerBytesMax = 4 * 1024 * 1024;
constexpr std::size_t kMaskBytesMax = 64 * 1024 * 1024;
constexpr std::size_t kFetchBytes = 256 * 1024;
constexpr std::int64_t kMiB = 1024 * 1024;

int threads_of(const SearcherOptions& options) {
  if (options.threads > 0) return options.threads;
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

Result<json::value> parse(const std::string& text) {
  boost::system::error_code failed;
  json::value value = json::parse(text, failed);
  if (failed || !value.is_object()) return Error{Errc::Invalid, "a question is a JSON object"};
  return value;
}

Result<std::string> text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) {
    return Error{Errc::Invalid, fmt::format("the question needs a text '{}'", name)};
  }
  return std::string(value->get_string());
}

std::int64_t number_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

Result<const json::array*> array_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_array()) {
    return Error{Errc::Invalid, fmt::format("the question needs a list '{}'", name)};
  }
  return &value->get_array();
}

Result<Query> query_of(const json::object& question) {
  TRY_ASSIGN(const std::string text, text_of(question, "text"));
  const bool any = text.starts_with("any:");
  if (!any && !text.starts_with("all:")) return Error{Errc::Invalid, "the text says all: or any:"};
  Query query = parse_query(std::string_view(text).substr(4));
  std::optional<Query> loose = any ? relaxed(query) : std::nullopt;
  return loose ? *std::move(loose) : query;
}

// What the messages of our queue say.
struct Orders {
  std::vector<std::string> loads;  // digests
  std::vector<std::string> drops;
};

Orders read_orders(const json::array& items) {
  Orders orders;
  for (const json::value& item : items) {
    const json::object* message = item.if_object();
    const json::value* body = message == nullptr ? nullptr : message->if_contains("body");
    if (body == nullptr || !body->is_object()) continue;
    const Result<std::string> type = text_of(body->get_object(), "type");
    const Result<std::string> digest = text_of(body->get_object(), "digest");
    if (!type.ok() || !digest.ok()) continue;
    if (*type == "load") orders.loads.push_back(*digest);
    if (*type == "drop") orders.drops.push_back(*digest);
  }
  return orders;
}

}  // namespace

class Searcher::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(net::Loop& loop, net::Client server, PackFolder& folder, SearcherOptions options)
      : loop_(loop),
        server_(std::move(server)),
        folder_(folder),
        options_(std::move(options)),
        changed_(loop),
        pool_({.threads = threads_of(options_), .queue_max = 4096}) {}

  void start() {
    running_ = true;
    loop_.spawn("searcher", run(shared_from_this()));
  }
  static net::Task<> stop(std::shared_ptr<Core> self) {
    self->cut();
    while (self->running_) co_await self->changed_.wait();
  }
  void cut() {
    stopping_ = true;
    changed_.notify_all();
    pool_.stop();
    disk_.stop();
  }
  static net::Task<Result<>> handle(std::shared_ptr<Core> self, net::Exchange& exchange);

 private:
  struct KeptMask {
    std::int64_t version = 0;
    std::shared_ptr<const Mask> mask;
  };

  static net::Task<> run(std::shared_ptr<Core> self);
  net::Task<Result<>> register_now();
  net::Task<Result<>> obey();
  net::Task<Result<>> load(std::string digest);
  net::Task<Result<json::value>> ask(net::Request request);
  Result<std::int64_t> free_mb() const;
  net::Task<Result<json::object>> count(json::object question);
  net::Task<Result<json::object>> search(json::object question);
  net::Task<Result<json::object>> suggest(json::object question);
  net::Task<Result<std::vector<GroupMember>>> members(const json::array* digests);
  net::Task<Result<GroupMember>> member(json::object segment);

  net::Loop& loop_;
  net::Client server_;
  PackFolder& folder_;
  const SearcherOptions options_;
  // The loop's thread only:
  bool running_ = false;
  bool stopping_ = false;
  bool in_trouble_ = false;
  std::map<std::string, KeptMask> masks_;  // by digest
  net::Event changed_;
  // They go first.
  io::Pool pool_;                                   // searches
  io::Pool disk_{{.threads = 1, .queue_max = 64}};  // receives and opens
};

net::Task<> Searcher::Core::run(std::shared_ptr<Core> self) {
  while (!self->stopping_) {
    Result<> done = co_await self->register_now();
    if (done.ok() && !self->stopping_) done = co_await self->obey();
    if (self->stopping_) break;
    if (!done.ok() && !self->in_trouble_) {
      log_warn("searcher.trouble", {{"error", done.error().message()}});
    }
    if (done.ok() && self->in_trouble_) log_info("searcher.recovered");
    self->in_trouble_ = !done.ok();
    co_await self->changed_.wait(net::in_ms(self->options_.register_ms));
  }
  self->running_ = false;
  self->changed_.notify_all();
}

Result<std::int64_t> Searcher::Core::free_mb() const {
  TRY_ASSIGN(const io::FreeSpace space, io::free_space(folder_.path()));
  const std::int64_t free = space.free_bytes / kMiB - options_.free_mb_min;
  if (options_.space_mb == 0) return std::max<std::int64_t>(free, 0);
  std::int64_t used = 0;
  for (const std::string& digest : folder_.held()) {
    std::error_code gone;
    const auto bytes = std::filesystem::file_size(folder_.path() / (digest + ".pack"), gone);
    if (!gone) used += static_cast<std::int64_t>(bytes);
  }
  const std::int64_t left = options_.space_mb - (used + kMiB - 1) / kMiB;
  return std::clamp<std::int64_t>(left, 0, std::max<std::int64_t>(free, 0));
}

net::Task<Result<json::value>> Searcher::Core::ask(net::Request request) {
  CO_TRY_ASSIGN(const net::Response response,
                co_await server_.fetch(std::move(request), kServerAnswerBytesMax));
  if (response.status >= 300) {
    co_return Error{Errc::Unavailable,
                    fmt::format("the server answers {}: {}", response.status, response.body)};
  }
  boost::system::error_code failed;
  json::value value = json::parse(response.body, failed);
  if (failed) co_return Error{Errc::Corrupt, "the server's answer is not JSON"};
  co_return value;
}

net::Task<Result<>> Searcher::Core::register_now() {
  CO_TRY_ASSIGN(const std::int64_t free, free_mb());
  const std::vector<std::string> held = folder_.held();
  const json::object body{{"type", "register"},
                          {"searcher_id", options_.id},
                          {"free_space", free},
                          {"address", options_.address},
                          {"held", json::array(held.begin(), held.end())}};
  net::Request request =
      net::post_request("/api/v1/queues/ORCH/messages", json::serialize(body), "application/json");
  const Result<json::value> answer = co_await ask(std::move(request));
  if (!answer.ok()) co_return answer.error();
  co_return Result<>();
}

// What the orchestrator wants stands in our queue until we say that it is so.
net::Task<Result<>> Searcher::Core::obey() {
  const std::string target =
      fmt::format("/api/v1/queues/SEARCHER-{}/messages?status=available", options_.id);
  CO_TRY_ASSIGN(const json::value page, co_await ask(net::get_request(target)));
  const json::object* object = page.if_object();
  const json::value* items = object == nullptr ? nullptr : object->if_contains("items");
  if (items == nullptr || !items->is_array()) co_return Error{Errc::Corrupt, "no list of messages"};
  const Orders orders = read_orders(items->get_array());
  bool changed = false;
  Result<> done;
  // Drops first: they make room. One that fails keeps nobody from doing the others.
  for (const std::string& digest : orders.drops) {
    if (!folder_.has(digest) || stopping_) continue;
    masks_.erase(digest);
    const Result<> dropped = folder_.drop(digest);
    if (!dropped.ok()) done = dropped;
    changed = true;
  }
  for (const std::string& digest : orders.loads) {
    if (folder_.has(digest) || stopping_) continue;
    const Result<> loaded = co_await load(digest);
    if (!loaded.ok()) done = loaded;
    changed = changed || loaded.ok();
  }
  if (changed) CO_TRY(co_await register_now());
  co_return done;
}

net::Task<Result<>> Searcher::Core::load(std::string digest) {
  net::Sent sent = co_await server_.send(net::get_request("/api/v1/segments/" + digest));
  CO_TRY_ASSIGN(net::Answer answer, std::move(sent.answer));
  if (answer.status() != 200) {
    co_return Error{Errc::Unavailable,
                    fmt::format("the server gives no segment {} ({})", digest, answer.status())};
  }
  CO_TRY_ASSIGN(PackReceiver made, PackReceiver::create(folder_.path(), digest));
  auto receiver = std::make_shared<PackReceiver>(std::move(made));
  auto piece = std::make_shared<std::string>(kFetchBytes, '\0');
  while (true) {
    CO_TRY_ASSIGN(const std::size_t got, co_await answer.read(std::span(*piece)));
    if (got == 0) break;
    auto write = [receiver, piece, got] {
      return receiver->write(std::string_view(*piece).substr(0, got));
    };
    CO_TRY(co_await queue::offload(loop_, disk_, std::move(write)));
  }
  auto finish = [receiver, folder = &folder_, digest]() -> Result<> {
    TRY(receiver->finish());
    folder->note(digest);
    TRY(folder->find(digest));  // it is open before we say that we hold it
    return {};
  };
  CO_TRY(co_await queue::offload(loop_, disk_, std::move(finish)));
  log_info("searcher.loaded", {{"digest", digest}});
  co_return Result<>();
}

net::Task<Result<GroupMember>> Searcher::Core::member(json::object segment) {
  GroupMember one;
  CO_TRY_ASSIGN(const std::string digest, text_of(segment, "digest"));
  auto find = [folder = &folder_, digest] { return folder->find(digest); };
  CO_TRY_ASSIGN(one.pack, co_await queue::offload(loop_, disk_, std::move(find)));
  CO_TRY_ASSIGN(one.collection, text_of(segment, "collection"));
  if (number_of(segment, "masked") == 0) co_return one;
  const std::int64_t version = number_of(segment, "mask_version");
  const auto kept = masks_.find(digest);
  if (kept != masks_.end() && kept->second.version == version) {
    one.mask = kept->second.mask;
    co_return one;
  }
  const std::string target = fmt::format("/api/v1/segments/{}/mask?version={}", digest, version);
  CO_TRY_ASSIGN(net::Response mask,
                co_await server_.fetch(net::get_request(target), kMaskBytesMax));
  if (mask.status != 200) {
    co_return Error{Errc::Conflict,
                    fmt::format("the mask of {} at version {} is not to be had", digest, version)};
  }
  one.mask = std::make_shared<const Mask>(Mask::from_bytes(std::move(mask.body)));
  masks_[digest] = {version, one.mask};
  co_return one;
}

net::Task<Result<std::vector<GroupMember>>> Searcher::Core::members(const json::array* digests) {
  std::vector<GroupMember> all;
  for (const json::value& digest : *digests) {
    json::object segment;
    segment["digest"] = digest;
    segment["collection"] = "";
    CO_TRY_ASSIGN(GroupMember one, co_await member(std::move(segment)));
    all.push_back(std::move(one));
  }
  co_return all;
}

net::Task<Result<json::object>> Searcher::Core::count(json::object question) {
  CO_TRY_ASSIGN(const json::array* digests, array_of(question, "segments"));
  CO_TRY_ASSIGN(const json::array* tokens, array_of(question, "tokens"));
  std::vector<std::string> wanted;
  for (const json::value& token : *tokens) {
    if (token.is_string()) wanted.emplace_back(token.get_string());
  }
  CO_TRY_ASSIGN(const std::vector<GroupMember> all, co_await members(digests));
  auto count_all = [all, wanted] { return count_tokens(all, wanted); };
  CO_TRY_ASSIGN(const Frequencies sum, co_await queue::offload(loop_, pool_, std::move(count_all)));
  co_return to_json(sum);
}

net::Task<Result<json::object>> Searcher::Core::search(json::object question) {
  CO_TRY_ASSIGN(const json::array* segments, array_of(question, "segments"));
  GroupOrder order;
  CO_TRY_ASSIGN(order.query, query_of(question));
  const json::value* frequencies = question.if_contains("frequencies");
  if (frequencies == nullptr) co_return Error{Errc::Invalid, "the question has no frequencies"};
  CO_TRY_ASSIGN(order.frequencies, frequencies_from(*frequencies));
  CO_TRY_ASSIGN(const json::array* hidden, array_of(question, "hidden_jobs"));
  for (const json::value& job : *hidden) {
    if (job.is_int64()) order.hidden_jobs.push_back(job.get_int64());
  }
  if (question.contains("only_jobs")) {
    CO_TRY_ASSIGN(const json::array* only, array_of(question, "only_jobs"));
    order.only_jobs.emplace();
    for (const json::value& job : *only) {
      if (job.is_int64()) order.only_jobs->push_back(job.get_int64());
    }
  }
  CO_TRY_ASSIGN(const std::string sort, text_of(question, "sort"));
  order.sort = parse_sort(sort).value_or(Sort::Relevance);
  const auto limit = std::clamp<std::int64_t>(number_of(question, "limit"), 1, kHitsMax);
  order.limit = static_cast<std::size_t>(limit);
  if (const json::value* after = question.if_contains("after")) {
    CO_TRY_ASSIGN(order.after, place_from(*after));
  }
  const json::value* facets = question.if_contains("facets");
  order.facets = facets != nullptr && facets->is_bool() && facets->get_bool();
  std::vector<GroupMember> all;
  for (const json::value& segment : *segments) {
    if (!segment.is_object()) co_return Error{Errc::Invalid, "a segment is an object"};
    CO_TRY_ASSIGN(GroupMember one, co_await member(segment.get_object()));
    all.push_back(std::move(one));
  }
  auto search_all = [all, order] { return search_group(all, order); };
  CO_TRY_ASSIGN(const GroupAnswer answer,
                co_await queue::offload(loop_, pool_, std::move(search_all)));
  co_return to_json(answer);
}

net::Task<Result<json::object>> Searcher::Core::suggest(json::object question) {
  CO_TRY_ASSIGN(const json::array* digests, array_of(question, "segments"));
  CO_TRY_ASSIGN(const std::string word, text_of(question, "word"));
  const auto limit =
      static_cast<std::size_t>(std::clamp<std::int64_t>(number_of(question, "limit"), 1, kHitsMax));
  CO_TRY_ASSIGN(const std::vector<GroupMember> all, co_await members(digests));
  auto suggest_all = [all, word, limit] { return suggest_group(all, word, limit); };
  CO_TRY_ASSIGN(const std::vector<Suggestion> found,
                co_await queue::offload(loop_, pool_, std::move(suggest_all)));
  json::object answer;
  for (const Suggestion& one : found) answer[one.word] = one.documents;
  co_return answer;
}

net::Task<Result<>> Searcher::Core::handle(std::shared_ptr<Core> self, net::Exchange& exchange) {
  const std::string& target = exchange.request().target;
  if (target == "/healthz") {
    const json::object health{{"status", self->in_trouble_ ? "degraded" : "ok"},
                              {"searcher", self->options_.id},
                              {"held", self->folder_.held().size()}};
    co_return co_await exchange.respond(net::json_response(200, json::serialize(health)));
  }
  using Answering = net::Task<Result<json::object>> (Core::*)(json::object);
  static const std::map<std::string, Answering> answers = {
      {"/searcher/v1/count", &Core::count},
      {"/searcher/v1/search", &Core::search},
      {"/searcher/v1/suggest", &Core::suggest}};
  const auto found = answers.find(target);
  if (found == answers.end() || exchange.request().method != net::Method::Post) {
    co_return Error{Errc::Missing, "a searcher has no such address"};
  }
  CO_TRY_ASSIGN(const std::string body, co_await exchange.read_all(kQuestionBytesMax));
  CO_TRY_ASSIGN(const json::value question, parse(body));
  CO_TRY_ASSIGN(const json::object answer,
                co_await (self.get()->*found->second)(question.get_object()));
  co_return co_await exchange.respond(net::json_response(200, json::serialize(answer)));
}

Searcher::Searcher(net::Loop& loop, net::Client server, PackFolder& folder, SearcherOptions options)
    : core_(std::make_shared<Core>(loop, std::move(server), folder, std::move(options))) {}

Searcher::~Searcher() {
  core_->cut();
}

void Searcher::start() {
  core_->start();
}

net::Task<> Searcher::stop() {
  return Core::stop(core_);
}

net::Task<Result<>> Searcher::handle(net::Exchange& exchange) {
  return Core::handle(core_, exchange);
}

}  // namespace quern::search
