#include "app/export_bag.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <map>

#include "app/ask.h"
#include "app/output.h"
#include "app/read_text.h"
#include "fileset/bag.h"
#include "fileset/file_row.h"
#include "io/clock.h"
#include "net/target.h"

namespace quern::app {
namespace {

namespace json = boost::json;

constexpr char kSoftware[] = "Quern";

// Answers are somebody else's: what is of another type counts as not there.
std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}
bool flag_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}
std::int64_t size_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_int64() ? value->get_int64() : -1;
}
json::object object_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_object() ? value->get_object() : json::object();
}

// -- what there is --

// A list whose newest items come first, and whose next page is `before`.
net::Task<Result<>> walk_back(Door& door, std::string address, Each each) {
  std::string before;
  while (true) {
    std::string target = address;
    if (!before.empty()) net::append_query(target, "before", before);
    net::Request request = net::get_request(target);
    CO_TRY_ASSIGN(const json::value answer, co_await call(door, std::move(request)));
    const json::object& page = answer.as_object();
    for (const json::value& item : page.at("items").as_array()) CO_TRY(each(item.as_object()));
    const json::value* next = page.if_contains("next");
    if (next == nullptr) co_return Result<>();
    before = json::serialize(*next);
  }
}

Result<> expect_room(std::size_t jobs) {
  if (jobs < kExportedJobsMax) return {};
  return over_limit("jobs of the collection", static_cast<std::int64_t>(jobs) + 1, kExportedJobsMax,
                    "export");
}

struct Listed {
  std::vector<std::int64_t> datasets;  // oldest first, as the rest
  std::vector<std::int64_t> imports;
};

net::Task<Result<Listed>> list_all(Door& door, std::string collection) {
  struct Chosen {
    std::int64_t job = 0;
    bool hit = false;
  };
  std::map<std::string, Chosen> by_address;
  Each take_dataset = [&by_address](const json::object& item) -> Result<> {
    TRY(expect_room(by_address.size()));
    const Chosen one{size_of(item, "job"), flag_of(item, "hit")};
    const std::string url = text_of(object_of(item, "request"), "base_url");
    const auto [found, is_new] = by_address.emplace(url, one);
    if (!is_new && one.hit && !found->second.hit) found->second = one;
    return {};
  };
  Listed listed;
  Each take_job = [&listed](const json::object& item) -> Result<> {
    TRY(expect_room(listed.imports.size()));
    if (text_of(item, "kind") == "import") listed.imports.push_back(size_of(item, "job"));
    return {};
  };
  std::string datasets = "/api/v1/filesets";
  std::string jobs = "/api/v1/jobs";
  net::append_query(datasets, "collection", collection);
  net::append_query(jobs, "collection", collection);
  CO_TRY(co_await walk_back(door, std::move(datasets), std::move(take_dataset)));
  CO_TRY(co_await walk_back(door, std::move(jobs), std::move(take_job)));
  for (const auto& [url, chosen] : by_address) listed.datasets.push_back(chosen.job);
  std::ranges::sort(listed.datasets);
  std::ranges::sort(listed.imports);
  co_return listed;
}

// -- files --

net::Task<Result<>> copy(Door& door, fileset::BagWriter& bag, fileset::BagFile file,
                         std::string target) {
  CO_TRY(bag.begin_file(file));
  Door::Take take = [&bag](std::string_view bytes) { return bag.add(bytes); };
  net::Request request = net::get_request(target);
  Result<> came = co_await door.download(std::move(request), std::move(take));
  if (!came.ok()) co_return std::move(came).error().with_context("while reading " + file.path);
  co_return bag.end_file();
}

// As index lines of web archives are (CDXJ).
std::string index_line(const json::object& cdx) {
  if (text_of(cdx, "surt").empty()) return "";
  json::object fields{{"url", text_of(cdx, "url")},
                      {"mime", text_of(cdx, "mimetype")},
                      {"digest", "sha1:" + text_of(cdx, "sha1b32")}};
  if (size_of(cdx, "status_code") > 0) fields["status"] = size_of(cdx, "status_code");
  if (!text_of(cdx, "warc_path").empty()) {
    fields["filename"] = text_of(cdx, "warc_path");
    fields["offset"] = size_of(cdx, "warc_offset");
    fields["length"] = size_of(cdx, "warc_csize");
  }
  return fmt::format("{} {} {}\n", text_of(cdx, "surt"), text_of(cdx, "datetime"),
                     json::serialize(fields));
}

std::string instant_of(const json::object& dataset) {
  const std::int64_t ended = size_of(dataset, "ended_us");
  return ended > 0 ? io::utc_text(ended) : "";
}

fileset::BagDataset head_of(const json::object& dataset, std::int64_t job) {
  const json::object request = object_of(dataset, "request");
  const json::object result = object_of(dataset, "result");
  const json::object biblio = object_of(result, "html_biblio");
  const std::string platform = text_of(dataset, "platform_name");
  const std::string id = text_of(dataset, "platform_id");
  const std::string doi = text_of(object_of(request, "ext_ids"), "doi");
  fileset::BagDataset head;
  head.name = id.empty() ? fmt::format("dataset-{}", job) : platform + "-" + id;
  head.title = text_of(biblio, "title");
  head.identifier = doi.empty() ? text_of(biblio, "doi") : doi;
  head.identifier = head.identifier.empty() ? id : "doi:" + head.identifier;
  head.url = text_of(request, "base_url");
  head.fetched = instant_of(dataset);
  head.status = text_of(dataset, "status");
  return head;
}

struct Left {
  std::int64_t files = 0;  // that are not here: not kept yet, or kept elsewhere
};

net::Task<Result<>> add_dataset(Door& door, fileset::BagWriter& bag, std::int64_t job, Left& left) {
  const std::string address = fmt::format("/api/v1/filesets/{}", job);
  net::Request request = net::get_request(address);
  CO_TRY_ASSIGN(const json::value answer, co_await call(door, std::move(request)));
  const json::object& dataset = answer.as_object();
  fileset::BagDataset head = head_of(dataset, job);
  CO_TRY(bag.begin_dataset(head));
  std::string lines = index_line(object_of(object_of(dataset, "result"), "cdx"));
  bool bundled = false;  // the bundle comes first
  for (const json::value& one : dataset.at("files").as_array()) {
    const json::object& row = one.as_object();
    if (!flag_of(row, "has_blob")) {
      if (!bundled) ++left.files;
      continue;
    }
    // Its files lie in it.
    bundled = bundled || size_of(row, "number") == fileset::kBundleNumber;
    fileset::BagFile file{text_of(row, "path"),     size_of(row, "size"),
                          text_of(row, "md5"),      text_of(row, "sha256"),
                          text_of(row, "mimetype"), text_of(row, "platform_url")};
    std::string target = fmt::format("{}/files/{}/blob", address, size_of(row, "number"));
    CO_TRY(co_await copy(door, bag, std::move(file), std::move(target)));
    lines += index_line(object_of(row, "cdx"));
  }
  CO_TRY(bag.end_dataset());
  const std::string name = fmt::format("dataset-{}", job);
  CO_TRY(bag.add_provenance(name + ".json", json::serialize(object_of(dataset, "result")) + "\n"));
  if (!lines.empty()) CO_TRY(bag.add_provenance(name + ".cdxj", lines));
  co_return Result<>();
}

net::Task<Result<>> add_import(Door& door, fileset::BagWriter& bag, std::int64_t job, Left& left) {
  std::string after;
  while (true) {
    std::string target = fmt::format("/api/v1/jobs/{}/roots", job);
    if (!after.empty()) net::append_query(target, "after", after);
    net::Request request = net::get_request(target);
    CO_TRY_ASSIGN(const json::value answer, co_await call(door, std::move(request)));
    const json::object& page = answer.as_object();
    for (const json::value& one : page.at("items").as_array()) {
      const json::object& root = one.as_object();
      if (text_of(root, "state") == "created") {  // it is being uploaded
        ++left.files;
        continue;
      }
      std::string type = text_of(root, "detected_type");
      fileset::BagFile file{
          .path = text_of(root, "filename"), .bytes = size_of(root, "bytes"), .type = type};
      std::string bytes = fmt::format("/api/v1/files/{}/blob", size_of(root, "file"));
      CO_TRY(co_await copy(door, bag, std::move(file), std::move(bytes)));
    }
    const json::value* next = page.if_contains("next");
    if (next == nullptr) co_return Result<>();
    after = json::serialize(*next);
  }
}

Result<> say(const Command& command, const ExportCommand& order, const fileset::BagSums& sums,
             const Left& left) {
  if (command.format == OutputFormat::Json) {
    const json::object line{
        {"collection", order.collection}, {"format", order.format}, {"out", order.out},
        {"datasets", sums.datasets},      {"files", sums.files},    {"bytes", sums.bytes},
        {"left_out", left.files}};
    return print_line(json::serialize(line));
  }
  std::string text = fmt::format("{}: {} datasets, {} files, {} bytes", order.out, sums.datasets,
                                 sums.files, sums.bytes);
  if (left.files > 0) text += fmt::format("; {} files are not here, and left out", left.files);
  return print_line(text);
}

}  // namespace

net::Task<Result<int>> export_bag(Command command, Door& door, ExportCommand order) {
  std::error_code failed;
  std::filesystem::path out = std::filesystem::absolute(order.out, failed).lexically_normal();
  if (!out.has_filename()) out = out.parent_path();  // "a/b/" is "a/b"
  std::string collection = order.collection;
  CO_TRY_ASSIGN(const Listed listed, co_await list_all(door, std::move(collection)));
  if (listed.datasets.empty() && listed.imports.empty()) {
    co_return Error{Errc::Missing,
                    fmt::format("collection '{}' has neither datasets nor files of an import",
                                order.collection)};
  }
  fileset::BagOrder bag_order;
  bag_order.out = out;
  bag_order.kind = order.format == "folder" ? fileset::BagKind::Plain : fileset::BagKind::Bag;
  bag_order.collection = order.collection;
  bag_order.organization = order.organization;
  bag_order.software = kSoftware;
  bag_order.now_us = io::system_clock().now_us();
  CO_TRY_ASSIGN(fileset::BagWriter bag, fileset::BagWriter::create(bag_order));
  Left left;
  for (const std::int64_t job : listed.datasets) CO_TRY(co_await add_dataset(door, bag, job, left));
  for (const std::int64_t job : listed.imports) CO_TRY(co_await add_import(door, bag, job, left));
  CO_TRY_ASSIGN(const fileset::BagSums sums, bag.finish());
  CO_TRY(say(command, order, sums, left));
  co_return kExitDone;
}

}  // namespace quern::app
