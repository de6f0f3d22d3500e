#include "app/search_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "app/ask.h"
#include "app/output.h"
#include "app/read_text.h"
#include "net/target.h"

namespace quern::app {
namespace {

namespace json = boost::json;

// A search on its own packs what was added before it; a server does so by itself.
constexpr char kFreshMs[] = "30000";
constexpr char kPackWaitMs[] = "60000";
constexpr int kPackWaitsMax = 1000;

std::string title_of(const json::object& hit) {
  const std::string title = text_in(hit, "title");
  return title.empty() ? text_in(hit, "filename") : title;
}

std::string where_of(const json::object& hit) {
  std::string where = text_in(hit, "url");
  if (where.empty()) where = text_in(hit, "filename");
  if (number_in(hit, "page") > 0) where += fmt::format(", page {}", number_in(hit, "page"));
  const std::string date = text_in(hit, "date");
  if (!date.empty()) where += ", " + date;
  return where + fmt::format("  [{} {}]", text_in(hit, "collection"), number_in(hit, "document"));
}

Result<> print_hits(const json::object& answer) {
  const bool colors = ::isatty(STDOUT_FILENO) == 1;
  const std::string_view begin = colors ? "\x1b[1;31m" : "**";
  const std::string_view end = colors ? "\x1b[0m" : "**";
  const json::array& hits = answer.at("hits").as_array();
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const json::object& hit = hits[i].as_object();
    TRY(print_line(fmt::format("{}. {}", i + 1, title_of(hit))));
    TRY(print_line("   " + where_of(hit)));
    const std::string snippet = snippet_text(text_in(hit, "snippet"), begin, end);
    if (!snippet.empty()) TRY(print_line("   " + snippet));
  }
  const std::int64_t total = number_in(answer, "total");
  const bool exact = text_in(answer, "total_is") == "exact";
  const std::string count =
      total == 0 ? "nothing found" : fmt::format("{}{} found", exact ? "" : "at least ", total);
  TRY(print_line(count));
  for (const json::value& note : answer.at("notes").as_array()) {
    TRY(print_line("note: " + std::string(note.as_string())));
  }
  if (!answer.contains("facets")) return {};
  for (const auto& [name, values] : answer.at("facets").as_object()) {
    std::string line = std::string(name) + ":";
    for (const json::value& one : values.as_array()) {
      const json::value& value = one.at("value");
      line += fmt::format(
          " {} ({})",
          value.is_string() ? std::string(value.as_string()) : std::to_string(value.as_int64()),
          one.at("count").as_int64());
    }
    TRY(print_line(line));
  }
  return {};
}

net::Task<Result<int>> run_find(Command command, Door& door, FindOrder order) {
  std::string target = "/api/v1/search";
  net::append_query(target, "q", fmt::format("{}", fmt::join(order.words, " ")));
  if (!order.collection.empty()) net::append_query(target, "collection", order.collection);
  net::append_query(target, "limit", std::to_string(order.limit));
  net::append_query(target, "sort", order.sort);
  if (!order.after.empty()) net::append_query(target, "after", order.after);
  if (order.facets) net::append_query(target, "facets", "1");
  net::append_query(target, "fresh", kFreshMs);
  CO_TRY_ASSIGN(const json::value answer, co_await call(door, net::get_request(target)));
  if (command.format == OutputFormat::Json) {
    CO_TRY(print_line(json::serialize(answer)));
  } else {
    CO_TRY(print_hits(answer.as_object()));
  }
  co_return kExitDone;
}

net::Task<Result<int>> run_pack(Command command, Door& door, PackOrder order) {
  std::string target = "/api/v1/collections";
  net::append_segment(target, order.collection);
  target += "/pack";
  net::append_query(target, "wait", kPackWaitMs);
  if (order.full) net::append_query(target, "full", "1");
  for (int waits = 0; waits < kPackWaitsMax; ++waits) {
    net::Request request = net::post_request(target, "", "application/json");
    request.repeat = net::Repeat::Always;
    CO_TRY_ASSIGN(const net::Response response, co_await door.call(std::move(request)));
    CO_TRY_ASSIGN(const json::value answer, parse_answer(response));
    if (response.status == 202) continue;
    if (command.format == OutputFormat::Json) {
      CO_TRY(print_line(json::serialize(answer)));
    } else {
      const json::object& pack = answer.as_object();
      CO_TRY(print_line(fmt::format(
          "{}: version {}, {} documents in {} segments, {} bytes", text_in(pack, "collection"),
          number_in(pack, "version"), number_in(pack, "documents"),
          pack.at("segments").as_array().size(), number_in(pack, "bytes"))));
    }
    co_return kExitDone;
  }
  co_return Error{Errc::Timeout, "the pack is not published yet; it goes on without us"};
}

template <class Body, class Order>
net::Task<Result<int>> with_packing_door(Command command, Body body, Order order) {
  Door door(command.loop, command.config, Working::OnlyPacks);
  Result<int> code = kExitDone;
  try {
    code = co_await body(command, door, std::move(order));
  } catch (const std::exception& odd) {
    code = Error{Errc::Corrupt, fmt::format("the server's answer is not Quern's: {}", odd.what())};
  }
  co_await door.close();
  co_return code;
}

}  // namespace

std::string snippet_text(std::string_view html, std::string_view begin, std::string_view end) {
  const std::array<std::pair<std::string_view, std::string_view>, 7> tags = {{{"<mark>", begin},
                                                                              {"</mark>", end},
                                                                              {"&lt;", "<"},
                                                                              {"&gt;", ">"},
                                                                              {"&quot;", "\""},
                                                                              {"&#39;", "'"},
                                                                              {"&amp;", "&"}}};
  std::string text;
  while (!html.empty()) {
    const auto* const tag = std::find_if(
        tags.begin(), tags.end(), [&](const auto& one) { return html.starts_with(one.first); });
    if (tag != tags.end()) {
      text += tag->second;
      html.remove_prefix(tag->first.size());
    } else {
      text += html.front();
      html.remove_prefix(1);
    }
  }
  return text;
}

net::Task<Result<int>> find(Command command, FindOrder order) {
  return with_packing_door(command, run_find, std::move(order));
}

net::Task<Result<int>> pack(Command command, PackOrder order) {
  return with_packing_door(command, run_pack, std::move(order));
}

void add_search_commands(CLI::App& app, Run& run, bool& serves) {
  CLI::App* search = app.add_subcommand("search", "Find documents by their words.");
  auto found = std::make_shared<FindOrder>();
  search->add_option("QUERY", found->words, "what to look for")->required();
  search->add_option("--collection", found->collection, "only there (default: everywhere)")
      ->type_name("NAME");
  search->add_option("--limit", found->limit, "how many hits (default 10)")
      ->type_name("N")
      ->check(CLI::Range(1, 200));
  search->add_option("--sort", found->sort, "relevance, newest or oldest")->type_name("ORDER");
  search->add_option("--after", found->after, "go on behind this: \"next\" of the page before")
      ->type_name("CURSOR");
  search->add_flag("--facets", found->facets, "also count by type, collection and year");
  search->footer(
      "Words must all be there; also: \"a phrase\", begin*, a OR b, NOT c or -c, (a OR b) c,\n"
      "title:word filename:word author:word from:word type:pdf date:2020..2021 path:leak/mails\n"
      "collection:name. A dash at the beginning of the query stands behind --.\n"
      "Examples:\n"
      "  quern search minister memo\n"
      "  quern search '\"river barge\" type:mail date:2019..' --collection leak\n"
      "  quern search --json 'invoice*' | jq -r '.hits[].filename'");
  search->callback([&run, found] { run = [found](Command c) { return find(c, *found); }; });

  CLI::App* packing = app.add_subcommand("pack", "Bring a collection's search up to date now.");
  auto packed = std::make_shared<PackOrder>();
  packing->add_option("COLLECTION", packed->collection, "which one")->required();
  packing->add_flag("--full", packed->full, "anew, from all its documents, as one segment");
  packing->footer("Examples:\n  quern pack default\n  quern pack council-2026 --full");
  packing->callback([&run, packed] { run = [packed](Command c) { return pack(c, *packed); }; });

  CLI::App* searcher = app.add_subcommand(
      "searcher", "Hold segments on this machine and answer searches of a server (--server).");
  auto held = std::make_shared<SearcherOrder>();
  searcher->add_option("--id", held->id, "its name (default: kept in the data folder)")
      ->type_name("NAME");
  searcher
      ->add_option("--address", held->address, "where the server reaches it (default: --listen)")
      ->type_name("HOST:PORT");
  searcher
      ->add_option("--space", held->space_mb, "megabytes that segments may take (default: free)")
      ->type_name("MB");
  searcher->footer(
      "Examples:\n"
      "  quern searcher --server http://10.0.0.1:8080 --listen 10.0.0.7:8090 --insecure\n"
      "  quern searcher --server http://127.0.0.1:8080 --listen 127.0.0.1:0 --data /tmp/s1 "
      "--space 500");
  searcher->callback([&run, &serves, held] {
    serves = true;
    run = [held](Command c) { return serve_searcher(c, *held); };
  });
}

}  // namespace quern::app
