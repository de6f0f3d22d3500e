#include "app/read_text.h"

#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>
#include <cmath>

namespace quern::app {
namespace {

namespace json = boost::json;

// Where the second column of lists begins; a longer name pushes it.
constexpr int kNameColumns = 48;

std::string last_segment(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return std::string(slash == path.npos || slash + 1 == path.size() ? path
                                                                    : path.substr(slash + 1));
}

// What a name adds to its parent's: "b.txt" of "a.zip/b.txt". A converted file keeps its name.
std::string name_below(std::string_view name, std::string_view parent) {
  if (parent.empty()) return std::string(name);
  const bool below =
      name.size() > parent.size() + 1 && name.starts_with(parent) && name[parent.size()] == '/';
  return below ? std::string(name.substr(parent.size() + 1)) : last_segment(name);
}

std::string what_became(const json::object& file) {
  const std::string became = text_in(file, "class");
  const std::int64_t children = number_in(file, "n_children");
  if (became == "container") return count_text(children, "file in it", "files in it");
  if (became == "error") return "error: " + text_in(file, "error_kind");
  if (became == "in_progress") {
    const std::string step = text_in(file, "step");
    const bool waits = text_in(file, "state") == "written" && !step.empty();
    return waits ? "in progress: " + step : "in progress";
  }
  return became;
}

void add_field(std::vector<std::string>& lines, std::string_view name, const std::string& value) {
  if (!value.empty()) lines.push_back(fmt::format("  {:<12} {}", name, printable(value)));
}

std::string cost_text(const json::object& file) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (const std::int64_t wall = number_in(file, "wall_ms"); wall > 0)
    add(fmt::format("{} ms", wall));
  if (const std::int64_t cpu = number_in(file, "cpu_ms"); cpu > 0)
    add(fmt::format("{} ms of CPU", cpu));
  if (const std::int64_t peak = number_in(file, "peak_kib"); peak > 0)
    add(size_text(peak * 1024) + " of memory");
  return text;
}

std::string attempts_text(const json::object& file) {
  std::string text;
  const std::int64_t attempts = number_in(file, "attempts");
  const std::int64_t interruptions = number_in(file, "interruptions");
  if (attempts > 0) text = count_text(attempts, "failed attempt", "failed attempts");
  if (interruptions > 0) {
    text += (text.empty() ? "" : ", ") +
            count_text(interruptions, "interruption", "interruptions") +
            " (its worker or its server went away)";
  }
  return text;
}

std::string step_text(const json::object& file) {
  std::string text = text_in(file, "step");
  if (const std::string version = text_in(file, "step_version"); !version.empty())
    text += " " + version;
  if (const std::string worker = text_in(file, "worker"); !worker.empty()) text += " by " + worker;
  return text;
}

}  // namespace

std::string count_text(std::int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string text_in(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

std::int64_t number_in(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains(name);
  return found != nullptr && found->is_int64() ? found->get_int64() : 0;
}

std::string printable(std::string_view text) {
  std::string clean;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    clean += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return clean;
}

std::string size_text(std::int64_t bytes) {
  constexpr std::array kUnits = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return count_text(bytes, "byte", "bytes");
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (value /= 1000; value >= 999.95 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string file_text(const json::object& file) {
  return fmt::format("{:<{}}  {}", printable(text_in(file, "filename")), kNameColumns,
                     what_became(file));
}

std::string document_text(const json::object& document) {
  const std::string name = printable(text_in(document, "filename"));
  const std::int64_t page = number_in(document, "page");
  const std::int64_t pages = number_in(document, "pages");
  if (page == 0) return name;
  return pages == 0 ? fmt::format("{:<{}}  page {}", name, kNameColumns, page)
                    : fmt::format("{:<{}}  page {} of {}", name, kNameColumns, page, pages);
}

std::string error_text(const json::object& error) {
  const std::string kind = text_in(error, "kind");
  const std::string message = printable(text_in(error, "message"));
  const std::string name = printable(text_in(error, "filename"));
  const bool superseded = error.if_contains("superseded") != nullptr;
  std::string text = message == kind
                         ? fmt::format("{:<14}  {}", kind, name)
                         : fmt::format("{:<14}  {:<{}}  {}", kind, name, kNameColumns, message);
  if (superseded) text += " (tried again since)";
  return text;
}

std::string tree_text(const json::object& file, std::string_view parent, int level,
                      const Emphasis& emphasis) {
  const std::string name = printable(name_below(text_in(file, "filename"), parent));
  const std::string became = text_in(file, "class");
  const std::string indent(static_cast<std::size_t>(level) * 2, ' ');
  if (became == "document")
    return fmt::format("{}* {}{}{}", indent, emphasis.begin, name, emphasis.end);
  if (became == "error") {
    return fmt::format("{}* {}{}{} ({})", indent, emphasis.begin, name, emphasis.end,
                       text_in(file, "error_kind"));
  }
  if (became == "empty") return fmt::format("{}* {} (empty)", indent, name);
  if (became == "in_progress") return fmt::format("{}* {} ({})", indent, name, what_became(file));
  return fmt::format("{}* {}", indent, name);
}

std::string job_header() {
  return fmt::format("{:>6}  {:<8}  {:>5}  {:>9}  {:>9}  {:>7}  {:<16}  {}", "JOB", "STATE", "DONE",
                     "FILES", "DOCUMENTS", "ERRORS", "COLLECTION", "WHAT");
}

std::string job_text(const json::object& job) {
  const double progress = job.at("progress").to_number<double>();
  std::string what = printable(text_in(job, "source"));
  if (text_in(job, "kind") != "import") what = text_in(job, "kind") + " of " + what;
  return fmt::format("{:>6}  {:<8}  {:>3.0f} %  {:>9}  {:>9}  {:>7}  {:<16}  {}",
                     number_in(job, "job"), text_in(job, "state"), std::floor(progress * 100),
                     number_in(job, "files"), number_in(job, "documents"), number_in(job, "errors"),
                     printable(text_in(job, "collection")), what);
}

std::vector<std::string> ledger_text(const json::object& ledger) {
  std::vector<std::string> lines;
  const std::int64_t roots = number_in(ledger, "roots");
  const std::int64_t skipped = number_in(ledger, "skipped");
  lines.push_back(fmt::format("{}: {} came in ({}){}", printable(text_in(ledger, "collection")),
                              count_text(roots, "file", "files"),
                              size_text(number_in(ledger, "bytes_in")),
                              skipped == 0 ? "" : fmt::format(", {} left out", skipped)));
  const std::pair<const char*, const char*> rows[] = {
      {"documents", "documents"}, {"containers", "containers"}, {"converted", "converted"},
      {"empty", "empty"},         {"errors", "errors"},         {"in_progress", "in progress"}};
  for (const auto& [field, word] : rows) {
    lines.push_back(fmt::format("  {:>10}  {}", number_in(ledger, field), word));
  }
  const json::value* balanced = ledger.if_contains("balanced");
  const bool well = balanced != nullptr && balanced->is_bool() && balanced->get_bool();
  lines.push_back(fmt::format("  {:>10}  files in all: {}", number_in(ledger, "files"),
                              well ? "it balances" : "IT DOES NOT BALANCE (see quern check)"));
  return lines;
}

std::vector<std::string> explanation_text(const json::object& file) {
  std::vector<std::string> lines{printable(text_in(file, "filename"))};
  lines.push_back("  " + printable(text_in(file, "outcome")));
  if (const std::string waits = text_in(file, "waits_for"); !waits.empty()) {
    lines.push_back("  it " + printable(waits));
  }
  const std::string detected = text_in(file, "detected_type");
  const std::string claimed = text_in(file, "content_type");
  add_field(lines, "type",
            detected.empty() || detected == claimed
                ? claimed
                : fmt::format("{} (came as {})", detected, claimed));
  add_field(lines, "size", size_text(number_in(file, "bytes")));
  add_field(lines, "step", step_text(file));
  add_field(lines, "cost", cost_text(file));
  add_field(lines, "attempts", attempts_text(file));
  if (const std::int64_t conflicts = number_in(file, "conflicts"); conflicts > 0) {
    add_field(lines, "conflicts",
              count_text(conflicts, "child came again and differed; the first one stands",
                         "children came again and differed; the first ones stand"));
  }
  add_field(lines, "worker said", text_in(file, "note"));
  add_field(lines, "job",
            fmt::format("{} of {}", number_in(file, "job"), text_in(file, "collection")));
  const json::value* parents = file.if_contains("parents");
  if (parents == nullptr || !parents->is_array()) return lines;
  for (const json::value& parent : parents->get_array()) {
    const json::object& above = parent.as_object();
    add_field(lines, "in", text_in(above, "filename") + ": " + text_in(above, "says"));
  }
  return lines;
}

json::object without_ids(json::object line) {
  for (const char* name : {"file", "parent", "document", "job", "root"}) line.stable_erase(name);
  return line;
}

}  // namespace quern::app
