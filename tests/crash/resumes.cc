#include "crash/resumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "io/file.h"

namespace quern::crash {
namespace {

namespace json = boost::json;

constexpr std::size_t kBytesMax = 16 * 1024 * 1024;
constexpr std::int64_t kAnswerMs = 10'000;
constexpr std::chrono::milliseconds kLookAgain{10};
// Calls that fail while a handler is down are made again soon, and as often as it takes.
constexpr int kBackoffMs = 20;
constexpr std::string_view kScheme = "http://";

std::string text_of(const json::object& object, std::string_view field) {
  const json::value* value = object.if_contains(field);
  if (value == nullptr) return "?";
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

Result<json::array> load_list(Api& api, const std::string& target) {
  TRY_ASSIGN(const json::object page, api.load(target + "?limit=1000"));
  return page.at("items").as_array();
}

Result<std::string> item_line(Api& api, const json::object& item) {
  const std::string name = text_of(item, "item");
  TRY_ASSIGN(const net::Response data,
             api.send(net::Method::Get, fmt::format("{}/items/{}/data", kJobs, name)));
  if (data.status != 200) return Error{Errc::Internal, data.body};
  return fmt::format("{} {} gate {} steps {} {}\n", name, text_of(item, "status"),
                     text_of(item, "gate"), text_of(item, "steps"), data.body);
}

}  // namespace

bool eventually(const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(kLookAgain);
  }
  return true;
}

Api::Api(const std::string& address)
    : endpoint_(*net::Endpoint::parse(address.substr(kScheme.size()))) {}

Result<net::Response> Api::send(net::Method method, std::string target, std::string body) {
  net::Request request;
  request.method = method;
  request.target = std::move(target);
  request.body = std::move(body);
  request.first_byte_ms = kAnswerMs;
  net::Client client(loop_, endpoint_, {});
  return loop_.run_until(client.fetch(std::move(request), kBytesMax));
}

Result<json::object> Api::load(std::string target) {
  TRY_ASSIGN(const net::Response answer, send(net::Method::Get, std::move(target)));
  boost::system::error_code failed;
  json::value value = json::parse(answer.body, failed);
  if (answer.status != 200 || failed || !value.is_object()) {
    return Error{Errc::Internal, fmt::format("{}: {}", answer.status, answer.body)};
  }
  return std::move(value.get_object());
}

std::int64_t Api::metric(const std::string& name) {
  const Result<net::Response> answer = send(net::Method::Get, "/metrics");
  if (!answer.ok()) return -1;
  const std::size_t at = answer->body.find(fmt::format("\n{} ", name));
  if (at == std::string::npos) return -1;
  return std::strtoll(answer->body.c_str() + at + name.size() + 2, nullptr, 10);
}

Result<std::unique_ptr<ResumeHandler>> ResumeHandler::start(const std::filesystem::path& folder,
                                                            int slow_ms) {
  std::unique_ptr<ResumeHandler> handler(new ResumeHandler);
  handler->file_ = folder / "effects";
  handler->arguments_ = {"--effects", handler->file_.string(), "--slow-ms",
                         std::to_string(slow_ms)};
  TRY(handler->launch());
  return handler;
}

Result<> ResumeHandler::launch() {
  std::vector<std::string> arguments = arguments_;
  if (!address_.empty()) {
    arguments.insert(arguments.end(), {"--listen", address_.substr(kScheme.size())});
  }
  TRY_ASSIGN(program_, support::Program::start({"resume_handler", arguments, {}, {}}));
  TRY_ASSIGN(const std::string line, program_->wait_for_line(support::Output::Standard, kScheme));
  address_ = line.substr(line.find(kScheme));
  return {};
}

Result<> ResumeHandler::kill_and_restart() {
  program_->kill();
  return launch();
}

Result<std::string> ResumeHandler::effects() const {
  TRY_ASSIGN(const std::string text, io::read_file(file_, kBytesMax));
  std::istringstream lines(text);
  std::multiset<std::string> sorted;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("VIOLATION")) sorted.insert(line);
    if (line.starts_with("jobs/")) sorted.insert(line.substr(line.find(' ') + 1));
  }
  return fmt::format("{}\n", fmt::join(sorted, "\n"));
}

Result<std::vector<std::string>> resume_lines(int count) {
  const std::filesystem::path folder = QUERN_SOURCE "/samples/resumes";
  TRY_ASSIGN(const auto entries, io::list_folder(folder, kResumesMax));
  std::set<std::string> names;
  for (const io::FolderEntry& entry : entries) names.insert(entry.name);
  std::vector<std::string> lines;
  for (const std::string& name : names) {
    if (static_cast<int>(lines.size()) == count) break;
    TRY_ASSIGN(const std::string text, io::read_file(folder / name, kBytesMax));
    const json::object data{{"resume", text}, {"of", count}};
    const json::object item{{"item", name.substr(0, name.find('.'))}, {"data", data}};
    lines.push_back(json::serialize(item) + "\n");
  }
  return lines;
}

std::string jobs_fields(const ResumeHandler& handler, int concurrency) {
  const json::object fields{{"handler", handler.address()}, {"auto_close", true},
                            {"concurrency", concurrency},   {"max_retries", -1},
                            {"backoff_ms", kBackoffMs},     {"backoff_max_ms", kBackoffMs}};
  return json::serialize(fields);
}

Result<std::string> story_of(Api& api) {
  TRY_ASSIGN(const json::object jobs, api.load(kJobs));
  std::string story;
  for (const char* field : {"status", "gate", "sealed", "items", "complete", "failed"}) {
    story += fmt::format("{} {}\n", field, text_of(jobs, field));
  }
  TRY_ASSIGN(const json::array items, load_list(api, fmt::format("{}/items", kJobs)));
  for (const json::value& item : items) {
    TRY_ASSIGN(const std::string line, item_line(api, item.as_object()));
    story += line;
  }
  TRY_ASSIGN(const Checked events, check_events(api));
  return story + fmt::format("gates {}\n{}", events.gates, events.faults);
}

Result<Checked> check_events(Api& api) {
  TRY_ASSIGN(const json::array events, load_list(api, fmt::format("{}/events", kJobs)));
  TRY_ASSIGN(const json::array items, load_list(api, fmt::format("{}/items", kJobs)));
  Checked checked;
  std::map<std::string, int> completed;
  for (const json::value& item : items) completed[text_of(item.as_object(), "item")] = 0;
  std::int64_t last_number = 0;
  for (const json::value& value : events) {
    const json::object& event = value.as_object();
    const std::int64_t number = event.at("number").as_int64();
    const std::int64_t token = event.at("token").as_int64();
    std::vector<std::int64_t>& tokens = checked.tokens;
    if (number != ++last_number) checked.faults += fmt::format("a gap before {}\n", number);
    if (!tokens.empty() && token < tokens.back()) {
      checked.faults += fmt::format("event {} was written under the old token {}\n", number, token);
    }
    if (tokens.empty() || token > tokens.back()) tokens.push_back(token);
    if (text_of(event, "kind") == "gate.opened") checked.gates += text_of(event, "gate") + " ";
    if (text_of(event, "kind") == "item.complete") ++completed[text_of(event, "item")];
  }
  for (const auto& [item, times] : completed) {
    if (times != 1) checked.faults += fmt::format("{} was completed {} times\n", item, times);
  }
  return checked;
}

}  // namespace quern::crash
