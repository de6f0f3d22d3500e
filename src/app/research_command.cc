#include "app/research_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "app/ask.h"
#include "app/output.h"
#include "app/read_text.h"
#include "net/target.h"

namespace quern::app {
namespace {

namespace json = boost::json;

constexpr std::int64_t kFirstLookMs = 50;
constexpr std::int64_t kLookMsMax = 500;
// Something may be about to start; then it is said why nothing moves.
constexpr std::int64_t kPatienceMs = 10'000;

bool flag_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::string headline(const json::object& status) {
  return fmt::format("{} and {}: {}, {} found, {} failed",
                     count_text(number_in(status, "episodes"), "episode", "episodes"),
                     count_text(number_in(status, "clips"), "clip", "clips"),
                     count_text(number_in(status, "results"), "result", "results"),
                     number_in(status, "found"), number_in(status, "failed"));
}

// Why it does not move, or what it is doing; "" where nothing is left.
std::string standing(const json::object& status) {
  if (flag_in(status, "idle")) return "";
  const std::int64_t researchers = number_in(status, "researchers");
  const std::int64_t taken = number_in(status, "taken");
  if (taken > 0) {
    return fmt::format("{} at work, {}", count_text(taken, "item is", "items are"),
                       count_text(researchers, "researcher", "researchers"));
  }
  if (number_in(status, "fetching") > 0) {
    return fmt::format("{} to be fetched",
                       count_text(number_in(status, "fetching"), "file is", "files are"));
  }
  if (researchers == 0) {
    return "there is work, and no researcher: 'quern serve' starts one by itself, and so does "
           "'quern-steps --server URL --research' on any machine";
  }
  return fmt::format("{} asked for work",
                     count_text(researchers, "researcher has", "researchers have"));
}

std::vector<std::string> describe(const json::object& status) {
  std::vector<std::string> lines = {headline(status)};
  const std::string now = standing(status);
  if (!now.empty()) lines.push_back(now);
  if (now.empty() && number_in(status, "episodes") * number_in(status, "clips") > 0) {
    lines.emplace_back("every clip was looked for in every episode");
  }
  if (number_in(status, "media_failed") > 0) {
    lines.push_back(
        fmt::format("{} could not be fetched: 'quern episodes list' and 'quern clips "
                    "list' say why",
                    count_text(number_in(status, "media_failed"), "file", "files")));
  }
  if (number_in(status, "failed") > 0) {
    lines.emplace_back(
        "what failed is tried again with 'quern research --retry'; 'quern findings --all' says "
        "why");
  }
  if (number_in(status, "dead_letters") > 0) {
    lines.push_back(
        fmt::format("{} could not be taken",
                    count_text(number_in(status, "dead_letters"), "report", "reports")));
  }
  return lines;
}

Result<> say(const Command& command, const json::object& status) {
  if (command.format == OutputFormat::Json) return print_line(json::serialize(status));
  for (const std::string& line : describe(status)) TRY(print_line(line));
  return {};
}

net::Task<Result<json::object>> load(Door& door) {
  CO_TRY_ASSIGN(const json::value status,
                co_await call(door, net::get_request("/api/v1/research")));
  co_return status.as_object();
}

// A line that replaces itself, on a terminal.
void draw(const std::string& line) {
  const std::string text = "\r\033[K" + line;
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

// What tells that something happens.
std::string movement(const json::object& status) {
  return fmt::format("{} {} {}", number_in(status, "results"), number_in(status, "taken"),
                     number_in(status, "fetching"));
}

net::Task<Result<json::object>> wait_for_end(Command command, Door& door) {
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  std::int64_t pause_ms = kFirstLookMs;
  std::string seen;
  net::Instant complain_at = net::in_ms(kPatienceMs);
  bool complained = false;
  while (true) {
    CO_TRY_ASSIGN(json::object status, co_await load(door));
    const bool idle = flag_in(status, "idle");
    if (terminal) draw(idle ? "" : headline(status) + "; " + standing(status));
    if (idle) co_return status;
    if (movement(status) != seen) complain_at = net::in_ms(kPatienceMs);
    seen = movement(status);
    if (!complained && net::in_ms(0) >= complain_at) {
      complained = true;
      complain(standing(status));
    }
    co_await command.loop.sleep_until(net::in_ms(pause_ms));
    pause_ms = std::min(pause_ms * 2, kLookMsMax);
  }
}

net::Task<Result<>> retry_failed(Door& door) {
  net::Request request =
      net::post_request("/api/v1/research", R"({"retry":"failed"})", "application/json");
  request.repeat = net::Repeat::Always;
  CO_TRY_ASSIGN(const json::value answer, co_await call(door, std::move(request)));
  complain(fmt::format("{} again", count_text(number_in(answer.as_object(), "reopened"),
                                              "pair is open", "pairs are open")));
  co_return Result<>{};
}

net::Task<Result<int>> run_research(Command command, Door& door, ResearchCommand order) {
  if (order.retry) CO_TRY(co_await retry_failed(door));
  auto load_it = order.wait ? wait_for_end(command, door) : load(door);
  CO_TRY_ASSIGN(const json::object status, co_await std::move(load_it));
  CO_TRY(say(command, status));
  co_return kExitDone;
}

// -- findings --

std::string finding_line(const json::object& pair, const json::object* at) {
  const json::value* offset = at == nullptr ? nullptr : at->if_contains("offset_ns");
  json::object line{{"episode", pair.at("episode")},
                    {"clip", pair.at("clip")},
                    {"found", at != nullptr},
                    {"offset_seconds", nullptr},
                    {"score", nullptr}};
  if (offset != nullptr) {
    line["offset_seconds"] = static_cast<double>(offset->to_number<std::int64_t>()) / 1e9;
    line["score"] = at->at("score");
  }
  line["episode_title"] = pair.at("episode_title");
  line["clip_title"] = pair.at("clip_title");
  if (!text_in(pair, "error").empty()) line["error"] = text_in(pair, "error");
  return json::serialize(line);
}

std::string clock_text(std::int64_t offset_ns) {
  const std::int64_t ms = (offset_ns + 500'000) / 1'000'000;
  return fmt::format("{}:{:02}:{:02}.{:03}", ms / 3'600'000, ms / 60'000 % 60, ms / 1000 % 60,
                     ms % 1000);
}

std::string finding_text(const json::object& pair, const json::object* at) {
  std::string text = fmt::format("{} {}  {} {}", number_in(pair, "episode"),
                                 printable(text_in(pair, "episode_title")), number_in(pair, "clip"),
                                 printable(text_in(pair, "clip_title")));
  if (at != nullptr) {
    return fmt::format("{:>12}  {:.3f}  {}",
                       clock_text(at->at("offset_ns").to_number<std::int64_t>()),
                       at->at("score").to_number<double>(), text);
  }
  const std::string error = printable(text_in(pair, "error"));
  return fmt::format("{:>12}         {}{}", error.empty() ? "not there" : "failed", text,
                     error.empty() ? "" : ": " + error);
}

Result<> print_pair(OutputFormat format, const json::object& pair) {
  const auto line = format == OutputFormat::Json ? finding_line : finding_text;
  const json::array& offsets = pair.at("offsets").as_array();
  for (const json::value& at : offsets) TRY(print_line(line(pair, &at.as_object())));
  if (offsets.empty()) TRY(print_line(line(pair, nullptr)));
  return {};
}

net::Task<Result<int>> run_findings(Command command, Door& door, FindingsCommand order) {
  std::string address = "/api/v1/findings";
  if (order.episode) net::append_query(address, "episode", std::to_string(*order.episode));
  if (order.clip) net::append_query(address, "clip", std::to_string(*order.clip));
  if (!order.collection.empty()) net::append_query(address, "collection", order.collection);
  const bool all = order.all || command.format == OutputFormat::Json;
  if (!all) net::append_query(address, "found", "true");
  const OutputFormat format = command.format;
  const Each each = [format](const json::object& pair) { return print_pair(format, pair); };
  co_return co_await walk_pages(door, std::move(address), each);
}

net::Task<Result<int>> at_work(Command command, ResearchCommand order) {
  Door door(command.loop, command.config, order.wait ? Working::Yes : Working::No);
  Result<int> code = kExitDone;
  try {
    code = co_await run_research(command, door, order);
  } catch (const std::exception& odd) {
    code = Error{Errc::Corrupt, fmt::format("the server's answer is not Quern's: {}", odd.what())};
  }
  co_await door.close();
  co_return code;
}

}  // namespace

net::Task<Result<int>> show_research(Command command, ResearchCommand order) {
  return at_work(command, order);
}

net::Task<Result<int>> list_findings(Command command, FindingsCommand order) {
  return with_door(command, run_findings, std::move(order));
}

void add_research_commands(CLI::App& app, Run& run) {
  CLI::App* research = app.add_subcommand(
      "research", "How far the search for clips in episodes is, and why it does not move.");
  auto order = std::make_shared<ResearchCommand>();
  research->add_flag("--wait", order->wait, "until every clip was looked for in every episode");
  research->add_flag("--retry", order->retry, "look again for what could not be looked for");
  research->footer(
      "Examples:\n"
      "  quern research\n"
      "  quern research --wait\n"
      "  quern research --retry --wait");
  research->callback(
      [&run, order] { run = [order](Command c) { return show_research(c, *order); }; });

  CLI::App* findings =
      app.add_subcommand("findings", "Where clips were found: by episode, clip and time.");
  auto filter = std::make_shared<FindingsCommand>();
  findings->add_option("--episode", filter->episode, "in this one only")->type_name("ID");
  findings->add_option("--clip", filter->clip, "of this one only")->type_name("ID");
  findings->add_option("--collection", filter->collection, "of episodes of this collection")
      ->type_name("NAME");
  findings->add_flag("--all", filter->all, "also what is not there, and what failed");
  findings->footer(
      "With --json each line is an object: episode, clip, found, offset_seconds, score. A clip "
      "that "
      "is not in an episode has one line, with \"found\":false.\n"
      "Examples:\n"
      "  quern findings --episode 3\n"
      "  quern findings --clip 7 --json");
  findings->callback(
      [&run, filter] { run = [filter](Command c) { return list_findings(c, *filter); }; });
}

}  // namespace quern::app
