#include "app/episodes_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "app/ask.h"
#include "app/output.h"
#include "app/read_text.h"
#include "app/sound_upload.h"
#include "net/target.h"
#include "research/curation.h"

namespace quern::app {
namespace {

namespace json = boost::json;
using research::Kind;

constexpr std::int64_t kFirstLookMs = 20;
constexpr std::int64_t kLookMsMax = 1000;

std::string address_of(Kind kind) {
  return fmt::format("/api/v1/{}", research::job_kind_of(kind));
}

std::string address_of(const EpisodesCommand& order) {
  return fmt::format("{}/{}", address_of(order.kind), order.id);
}

bool is_address(const std::string& source) {
  return source.starts_with("http://") || source.starts_with("https://");
}

Result<json::object> body_of(const EpisodesCommand& order, json::array sources) {
  json::object body;
  if (!order.collection.empty()) body["collection"] = order.collection;
  if (order.priority) body["priority"] = *order.priority;
  if (!order.metadata.empty()) {
    boost::system::error_code failed;
    json::value metadata = json::parse(order.metadata, failed);
    if (failed || !metadata.is_object()) {
      return Error{Errc::Invalid, R"(--metadata must be a JSON object such as {"show":"TBTL"})"};
    }
    body["metadata"] = std::move(metadata);
  }
  body["sources"] = std::move(sources);
  return body;
}

// "12  ready   0  Title"
std::string line_of(const json::object& curated) {
  std::string line =
      fmt::format("{:>6}  {:<7}  {:>4}  {}", number_in(curated, "id"), text_in(curated, "media"),
                  number_in(curated, "priority"), printable(text_in(curated, "title")));
  const std::string problem = text_in(curated, "problem");
  if (!problem.empty()) line += "  (" + printable(problem) + ")";
  return line;
}

std::string line_of_source(const json::object& source, Kind kind) {
  std::string line = printable(text_in(source, "url"));
  if (number_in(source, "page") > 1) line += fmt::format(" (page {})", number_in(source, "page"));
  const std::string problem = text_in(source, "problem");
  if (!problem.empty()) return line + ": " + printable(problem);
  line +=
      ": " + count_text(number_in(source, "found"), to_string(kind), research::job_kind_of(kind));
  line += fmt::format(", {} new or changed", number_in(source, "changed"));
  const std::int64_t left_out = number_in(source, "left_out");
  if (left_out > 0) line += fmt::format(", {} without sound left out", left_out);
  return line;
}

// -- adding --

struct Added {
  json::object answer;  // of the last request
  json::array curated;  // of files: id, change, title
  json::array sources;  // of the job
  json::array failed;   // episodes or clips without media
  bool wrong = false;
};

// Until all of it is fetched, or could not be.
net::Task<Result<>> follow(Command command, Door& door, std::int64_t job, Kind kind, Added& added) {
  std::int64_t look_ms = kFirstLookMs;
  while (true) {
    net::Request request = net::get_request(fmt::format("/api/v1/curations/{}", job));
    CO_TRY_ASSIGN(const json::value answer, co_await call(door, std::move(request)));
    const json::object& curation = answer.as_object();
    if (curation.at("ended").as_bool()) {
      added.sources = curation.at("sources").as_array();
      break;
    }
    co_await command.loop.sleep_until(net::in_ms(look_ms));
    look_ms = std::min(look_ms * 2, kLookMsMax);
  }
  for (const json::value& source : added.sources) {
    added.wrong |= !text_in(source.as_object(), "problem").empty();
  }
  net::Request request = net::get_request(fmt::format("{}?job={}", address_of(kind), job));
  CO_TRY_ASSIGN(const json::value answer, co_await call(door, std::move(request)));
  for (const json::value& item : answer.as_object().at("items").as_array()) {
    added.curated.push_back(item);
    if (text_in(item.as_object(), "problem").empty()) continue;
    added.failed.push_back(item);
    added.wrong = true;
  }
  co_return Result<>();
}

Result<int> say_added(const Command& command, const EpisodesCommand& order, const Added& added) {
  const std::int64_t job = number_in(added.answer, "job");
  const int code = added.wrong ? kExitFoundWrong : kExitDone;
  if (command.format == OutputFormat::Json) {
    json::object line{{"job", nullptr}, {"sources", added.sources}};
    if (job != 0) line["job"] = job;
    line[std::string(research::job_kind_of(order.kind))] = added.curated;
    TRY(print_line(json::serialize(line)));
    return code;
  }
  for (const json::value& one : added.curated) {
    const json::object& curated = one.as_object();
    if (!curated.contains("change")) continue;
    TRY(print_line(fmt::format("{} {}: {}  {}", to_string(order.kind), number_in(curated, "id"),
                               text_in(curated, "change"), printable(text_in(curated, "title")))));
  }
  for (const json::value& source : added.sources) {
    TRY(print_line(line_of_source(source.as_object(), order.kind)));
  }
  for (const json::value& failed : added.failed) TRY(print_line(line_of(failed.as_object())));
  if (job != 0 && order.no_wait) {
    TRY(print_line(
        fmt::format("job {} is running: quern {} list", job, research::job_kind_of(order.kind))));
  }
  return code;
}

net::Task<Result<json::array>> sources_of(Command command, Door& door,
                                          const EpisodesCommand& order) {
  json::array sources;
  std::vector<std::string> paths;
  for (const std::string& source : order.sources) {
    if (!is_address(source)) {
      paths.push_back(source);
      continue;
    }
    json::object one{{"url", source}};
    if (!order.title.empty()) one["title"] = order.title;
    if (!order.description.empty()) one["description"] = order.description;
    if (!order.aired.empty()) one["date_aired"] = order.aired;
    sources.push_back(std::move(one));
  }
  if (paths.empty()) co_return sources;
  SoundUpload upload(command, door, order);
  CO_TRY_ASSIGN(json::array files, co_await upload.send(std::move(paths)));
  for (json::value& file : files) sources.push_back(std::move(file));
  co_return sources;
}

net::Task<Result<int>> run_add(Command command, Door& door, EpisodesCommand order) {
  Added added;
  CO_TRY_ASSIGN(json::array sources, co_await sources_of(command, door, order));
  if (sources.empty()) {
    complain("quern: there is no sound among it");
    co_return kExitFoundWrong;
  }
  std::vector<std::string> titles;  // of files, in order
  for (const json::value& source : sources) {
    if (source.as_object().contains("file")) titles.push_back(text_in(source.as_object(), "title"));
  }
  CO_TRY_ASSIGN(const json::object body, body_of(order, std::move(sources)));
  net::Request request =
      net::post_request(address_of(order.kind), json::serialize(body), "application/json");
  request.repeat = net::Repeat::Always;  // it finds the one that runs
  CO_TRY_ASSIGN(const json::value answer, co_await call(door, std::move(request)));
  added.answer = answer.as_object();
  const std::string_view list = research::job_kind_of(order.kind);
  std::size_t at = 0;
  for (const json::value& one : added.answer.at(list).as_array()) {
    json::object curated = one.as_object();
    if (at < titles.size()) curated["title"] = titles[at++];
    added.curated.push_back(std::move(curated));
  }
  const std::int64_t job = number_in(added.answer, "job");
  if (job != 0 && !order.no_wait) CO_TRY(co_await follow(command, door, job, order.kind, added));
  co_return say_added(command, order, added);
}

// -- the others --

net::Task<Result<int>> run_list(Command command, Door& door, EpisodesCommand order) {
  std::string target = address_of(order.kind);
  if (!order.collection.empty()) net::append_query(target, "collection", order.collection);
  const bool json = command.format == OutputFormat::Json;
  Each each = [json](const json::object& curated) {
    return print_line(json ? json::serialize(curated) : line_of(curated));
  };
  co_return co_await walk_pages(door, std::move(target), std::move(each));
}

std::string line_of_feed(const json::object& feed) {
  std::string line =
      fmt::format("{:>6}  {}  {}", number_in(feed, "feed"), printable(text_in(feed, "url")),
                  printable(text_in(feed, "title")));
  const std::string problem = text_in(feed, "problem");
  if (!problem.empty()) line += "  (" + printable(problem) + ")";
  return line;
}

net::Task<Result<int>> run_feeds(Command command, Door& door, EpisodesCommand order) {
  std::string target = fmt::format("/api/v1/feeds?kind={}", to_string(order.kind));
  if (!order.collection.empty()) net::append_query(target, "collection", order.collection);
  const bool json = command.format == OutputFormat::Json;
  Each each = [json](const json::object& feed) {
    return print_line(json ? json::serialize(feed) : line_of_feed(feed));
  };
  co_return co_await walk_pages(door, std::move(target), std::move(each));
}

net::Task<Result<int>> run_set(Command command, Door& door, EpisodesCommand order) {
  if (!order.priority) co_return Error{Errc::Invalid, "say what: --priority N"};
  const json::object body{{"priority", *order.priority}};
  net::Request request =
      net::post_request(address_of(order), json::serialize(body), "application/json");
  request.method = net::Method::Patch;
  request.repeat = net::Repeat::Always;
  CO_TRY_ASSIGN(const json::value answer, co_await call(door, std::move(request)));
  const bool json = command.format == OutputFormat::Json;
  CO_TRY(print_line(json ? json::serialize(answer) : line_of(answer.as_object())));
  co_return kExitDone;
}

net::Task<Result<int>> run_remove(Command command, Door& door, std::string target) {
  net::Request request = net::get_request(std::move(target));
  request.method = net::Method::Delete;
  CO_TRY(co_await call(door, std::move(request)));
  if (command.format == OutputFormat::Json) CO_TRY(print_line(R"({"removed":true})"));
  co_return kExitDone;
}

// -- the command line --

using Handler = net::Task<Result<int>> (*)(Command, EpisodesCommand);

void add_words(CLI::App* command, const std::shared_ptr<EpisodesCommand>& order, Run& run) {
  const auto does = [&run, order](CLI::App* word, Handler handler) {
    word->callback([&run, order, handler] {
      run = [order, handler](Command c) { return handler(c, *order); };
    });
  };
  const auto what = std::string(research::job_kind_of(order->kind));
  CLI::App* add = command->add_subcommand(
      "add", order->kind == Kind::Episode
                 ? "Take episodes in: from feeds, addresses, files and folders."
                 : "Take clips in: from files, folders, addresses and feeds.");
  add->add_option("SOURCE", order->sources, "feeds and addresses (http…), files and folders")
      ->required();
  add->add_option("--collection", order->collection, "where they go (default: default)")
      ->type_name("NAME");
  add->add_option("--priority", order->priority, "higher ones are researched first (default: 0)")
      ->type_name("N");
  add->add_option("--title", order->title, "of a single one; else its own, or its file's name")
      ->type_name("TEXT");
  add->add_option("--description", order->description, "of a single one")->type_name("TEXT");
  add->add_option("--date-aired", order->aired, "of a single one")->type_name("DATE");
  add->add_option("--metadata", order->metadata, "a JSON object that all of them get")
      ->type_name("JSON");
  add->add_flag("--no-wait", order->no_wait, "do not wait until they are fetched");
  does(add, add_curated);
  CLI::App* list = command->add_subcommand("list", "What there is.");
  list->add_option("--collection", order->collection, "of this one only")->type_name("NAME");
  does(list, list_curated);
  CLI::App* feeds = command->add_subcommand("feeds", "Feeds that are looked at again.");
  feeds->add_option("--collection", order->collection, "of this one only")->type_name("NAME");
  does(feeds, list_feeds);
  CLI::App* set = command->add_subcommand("set", "Change a priority.");
  set->add_option("ID", order->id, "its number")->required();
  set->add_option("--priority", order->priority, "higher ones are researched first")
      ->type_name("N");
  does(set, set_curated);
  CLI::App* remove =
      command->add_subcommand("remove", "Take one out of research; its document stays.");
  remove->add_option("ID", order->id, "its number")->required();
  does(remove, remove_curated);
  CLI::App* remove_one = command->add_subcommand("remove-feed", "Look at a feed no more.");
  remove_one->add_option("FEED", order->id, "its number")->required();
  does(remove_one, remove_feed);
}

}  // namespace

net::Task<Result<int>> add_curated(Command command, EpisodesCommand order) {
  const bool of_one = !order.title.empty() || !order.description.empty() || !order.aired.empty();
  if (of_one && order.sources.size() > 1) {
    co_return Error{Errc::Invalid,
                    "--title, --description and --date-aired are for a single source"};
  }
  Door door(command.loop, command.config, order.no_wait ? Working::No : Working::Yes);
  Result<int> code = kExitDone;
  try {
    code = co_await run_add(command, door, std::move(order));
  } catch (const std::exception& odd) {
    code = Error{Errc::Corrupt, fmt::format("the server's answer is not Quern's: {}", odd.what())};
  }
  co_await door.close();
  co_return code;
}

net::Task<Result<int>> list_curated(Command command, EpisodesCommand order) {
  return with_door(command, run_list, std::move(order));
}

net::Task<Result<int>> list_feeds(Command command, EpisodesCommand order) {
  return with_door(command, run_feeds, std::move(order));
}

net::Task<Result<int>> set_curated(Command command, EpisodesCommand order) {
  return with_door(command, run_set, std::move(order));
}

net::Task<Result<int>> remove_curated(Command command, EpisodesCommand order) {
  return with_door(command, run_remove, address_of(order));
}

net::Task<Result<int>> remove_feed(Command command, EpisodesCommand order) {
  return with_door(command, run_remove, fmt::format("/api/v1/feeds/{}", order.id));
}

void add_episodes_commands(CLI::App& app, Run& run) {
  for (const Kind kind : {Kind::Episode, Kind::Clip}) {
    const bool episodes = kind == Kind::Episode;
    CLI::App* command = app.add_subcommand(
        std::string(research::job_kind_of(kind)),
        episodes ? "Episodes: where clips are looked for." : "Clips: what is looked for.");
    auto order = std::make_shared<EpisodesCommand>();
    order->kind = kind;
    command->require_subcommand(1);
    command->footer(episodes ? "Killed half-way, the same command goes on where it was.\n"
                               "Examples:\n"
                               "  quern episodes add https://example.org/feed.xml --priority 5\n"
                               "  quern episodes add shows/ \"talk of 3 May.mp3\"\n"
                               "  quern episodes set 17 --priority 10"
                             : "Examples:\n"
                               "  quern clips add jingles/ --priority 5\n"
                               "  quern clips add https://example.org/drop.mp3 --title Drop\n"
                               "  quern clips remove 17");
    add_words(command, order, run);
  }
}

}  // namespace quern::app
