// quern files, documents, errors, tree, explain
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>

#include "app/ask.h"
#include "app/output.h"
#include "app/read_command.h"
#include "app/read_text.h"
#include "fileset/platform.h"
#include "net/target.h"

namespace quern::app {
namespace {

namespace json = boost::json;

constexpr char kPageLimit[] = "1000";
constexpr int kLevelsMax = 64;  // the server's limit of depth is far below

bool is_number(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Result<> print_json(const json::object& line, bool no_ids) {
  return print_line(json::serialize(no_ids ? without_ids(line) : line));
}

// -- lists --

std::string list_address(const ListOrder& order) {
  std::string target = "/api/v1/" + order.list;
  if (!order.collection.empty()) net::append_query(target, "collection", order.collection);
  if (order.job > 0) net::append_query(target, "job", std::to_string(order.job));
  if (order.text) net::append_query(target, "text", "1");
  if (order.superseded) net::append_query(target, "superseded", "1");
  // With texts the pages are as long as the server thinks right.
  if (!order.text) net::append_query(target, "limit", kPageLimit);
  return target;
}

Result<> print_human(const ListOrder& order, const json::object& line) {
  if (order.list == "files") return print_line(file_text(line));
  if (order.list == "errors") return print_line(error_text(line));
  TRY(print_line(document_text(line)));
  if (!order.text) return {};
  return print_line("\n" + text_in(line, "text") + "\n");
}

bool is_error(const ListOrder& order, const json::object& line) {
  return order.list == "errors" || (order.list == "files" && text_in(line, "class") == "error");
}

net::Task<Result<int>> run_list(Command command, Door& door, ListOrder order) {
  bool errors = false;
  const Each print = [&](const json::object& line) -> Result<> {
    errors = errors || is_error(order, line);
    if (command.format == OutputFormat::Json) return print_json(line, order.no_ids);
    return print_human(order, line);
  };
  CO_TRY(co_await walk_pages(door, list_address(order), print));
  co_return order.strict&& errors ? kExitFoundWrong : kExitDone;
}

// -- one file --

class TreePrinter {
 public:
  TreePrinter(const Command& command, Door& door, const FileOrder& order)
      : door_(door), json_(command.format == OutputFormat::Json), no_ids_(order.no_ids) {
    if (::isatty(STDOUT_FILENO) == 1) emphasis_ = Emphasis::for_terminal();
  }

  // A file and all below it.
  net::Task<Result<>> print(json::object file, std::string parent, int level) {
    errors_ = errors_ || text_in(file, "class") == "error";
    if (json_) {
      CO_TRY(print_json(file, no_ids_));
    } else {
      CO_TRY(print_line(tree_text(file, parent, level, emphasis_)));
    }
    if (number_in(file, "n_children") == 0 || level >= kLevelsMax) co_return Result<>();
    const std::string address =
        fmt::format("/api/v1/files/{}/children?limit={}", number_in(file, "file"), kPageLimit);
    co_return co_await print_all(address, text_in(file, "filename"), level + 1);
  }

  // Every file of a list that pages by index. One page is in memory for each level.
  net::Task<Result<>> print_all(std::string address, std::string parent, int level) {
    std::int64_t after = -1;
    while (true) {
      std::string target = address;
      if (after >= 0) net::append_query(target, "after", std::to_string(after));
      CO_TRY_ASSIGN(const json::value answer, co_await call(door_, net::get_request(target)));
      const json::object& page = answer.as_object();
      for (const json::value& file : page.at("items").as_array()) {
        CO_TRY(co_await print(file.as_object(), parent, level));
      }
      if (!page.contains("next")) co_return Result<>();
      after = page.at("next").as_int64();
    }
  }
  bool errors() const { return errors_; }

 private:
  Door& door_;
  bool json_;
  bool no_ids_;
  bool errors_ = false;
  Emphasis emphasis_;
};

// All jobs of a collection, in the order in which they came.
net::Task<Result<std::vector<std::int64_t>>> jobs_of(Door& door, std::string collection) {
  std::vector<std::int64_t> jobs;
  std::int64_t before = 0;
  while (true) {
    std::string target = fmt::format("/api/v1/jobs?limit={}", kPageLimit);
    net::append_query(target, "collection", collection.empty() ? "default" : collection);
    if (before > 0) net::append_query(target, "before", std::to_string(before));
    CO_TRY_ASSIGN(const json::value answer, co_await call(door, net::get_request(target)));
    const json::object& page = answer.as_object();
    for (const json::value& job : page.at("items").as_array()) {
      jobs.push_back(number_in(job.as_object(), "job"));
    }
    if (!page.contains("next")) break;
    before = page.at("next").as_int64();
  }
  std::reverse(jobs.begin(), jobs.end());
  co_return jobs;
}

net::Task<Result<int>> run_tree(Command command, Door& door, FileOrder order) {
  TreePrinter printer(command, door, order);
  if (!order.file.empty()) {
    CO_TRY_ASSIGN(const std::int64_t id, co_await find_file(door, order));
    const std::string address = fmt::format("/api/v1/files/{}", id);
    CO_TRY_ASSIGN(const json::value file, co_await call(door, net::get_request(address)));
    CO_TRY(co_await printer.print(file.as_object(), "", 0));
  } else {
    std::vector<std::int64_t> jobs{order.job};
    if (order.job == 0) {
      CO_TRY_ASSIGN(jobs, co_await jobs_of(door, order.collection));
    }
    for (const std::int64_t job : jobs) {
      const std::string roots = fmt::format("/api/v1/jobs/{}/roots?limit={}", job, kPageLimit);
      CO_TRY(co_await printer.print_all(roots, "", 0));
    }
  }
  co_return order.strict&& printer.errors() ? kExitFoundWrong : kExitDone;
}

// Of an address of the web: why it is in, or is not.
net::Task<Result<int>> explain_address(Command command, Door& door, FileOrder order) {
  std::string target = "/api/v1/explain-url";
  net::append_query(target, "url", order.file);
  if (!order.collection.empty()) net::append_query(target, "collection", order.collection);
  CO_TRY_ASSIGN(const json::value story, co_await call(door, net::get_request(target)));
  if (command.format == OutputFormat::Json) {
    CO_TRY(print_line(json::serialize(story)));
    co_return kExitDone;
  }
  CO_TRY(print_line(text_in(story.as_object(), "url")));
  CO_TRY(print_line("  " + text_in(story.as_object(), "verdict")));
  for (const json::value& fact : story.at("facts").as_array()) {
    CO_TRY(print_line("  " + std::string(fact.as_string())));
  }
  co_return kExitDone;
}

// Of a job as a whole: a dataset has a story of its own.
net::Task<Result<int>> explain_job(Command command, Door& door, std::int64_t job) {
  const std::string address = fmt::format("/api/v1/filesets/{}", job);
  Result<json::value> dataset = co_await call(door, net::get_request(address));
  if (!dataset.ok() && dataset.error().kind() == Errc::Missing) {
    co_return Error{
        Errc::Missing,
        fmt::format("job {} is no dataset: name one of its files (quern files --job {})", job,
                    job)};
  }
  CO_TRY_ASSIGN(const json::value story, std::move(dataset));
  if (command.format == OutputFormat::Json) {
    CO_TRY(print_line(json::serialize(story)));
    co_return kExitDone;
  }
  for (const json::value& sentence : story.at("says").as_array()) {
    CO_TRY(print_line(std::string(sentence.as_string())));
  }
  co_return kExitDone;
}

net::Task<Result<int>> run_explain(Command command, Door& door, FileOrder order) {
  if (order.file.empty() && order.job > 0) {
    co_return co_await explain_job(command, door, order.job);
  }
  if (order.file.empty()) {
    co_return Error{Errc::Invalid, "name a file, an address of the web, or a dataset's --job"};
  }
  // A DOI is an address, too.
  const bool is_doi = order.file.starts_with("10.") || order.file.starts_with("doi:");
  if (is_doi) order.file = fileset::address_of(order.file);
  if (order.file.starts_with("http://") || order.file.starts_with("https://")) {
    co_return co_await explain_address(command, door, std::move(order));
  }
  CO_TRY_ASSIGN(const std::int64_t id, co_await find_file(door, order));
  const std::string address = fmt::format("/api/v1/files/{}/explain", id);
  CO_TRY_ASSIGN(const json::value file, co_await call(door, net::get_request(address)));
  if (command.format == OutputFormat::Json) {
    CO_TRY(print_line(json::serialize(file)));
  } else {
    for (const std::string& line : explanation_text(file.as_object())) CO_TRY(print_line(line));
  }
  co_return kExitDone;
}

}  // namespace

net::Task<Result<std::int64_t>> find_file(Door& door, FileOrder order) {
  if (is_number(order.file)) co_return std::stoll(order.file);
  std::string target = "/api/v1/files?limit=1000";
  net::append_query(target, "filename", order.file);
  if (!order.collection.empty()) net::append_query(target, "collection", order.collection);
  if (order.job > 0) net::append_query(target, "job", std::to_string(order.job));
  std::vector<json::object> found;
  const Each keep = [&found](const json::object& file) -> Result<> {
    // A converted file and what stands for it have one name; the upper one is meant.
    const auto is_parent = [&](const json::object& one) {
      return one.at("file") == file.at("parent");
    };
    if (std::none_of(found.begin(), found.end(), is_parent)) found.push_back(file);
    return {};
  };
  CO_TRY(co_await walk_pages(door, target, keep));
  if (found.empty()) {
    co_return Error{Errc::Missing,
                    fmt::format("there is no file '{}' (see quern files)", order.file)};
  }
  if (found.size() > 1) {
    std::string numbers;
    for (const json::object& file : found) numbers += fmt::format(" {}", number_in(file, "file"));
    co_return Error{Errc::Conflict,
                    fmt::format("{} files are called '{}'; name one by its number:{}", found.size(),
                                order.file, numbers)};
  }
  co_return number_in(found.front(), "file");
}

net::Task<Result<int>> list_results(Command command, ListOrder order) {
  return with_door(command, run_list, std::move(order));
}
net::Task<Result<int>> show_tree(Command command, FileOrder order) {
  return with_door(command, run_tree, std::move(order));
}
net::Task<Result<int>> explain(Command command, FileOrder order) {
  return with_door(command, run_explain, std::move(order));
}

}  // namespace quern::app
