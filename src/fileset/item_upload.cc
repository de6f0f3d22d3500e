#include "fileset/item_upload.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/base64.h"
#include "base/utf8.h"
#include "fileset/file_meta.h"
#include "fileset/item_files.h"
#include "io/file.h"
#include "net/target.h"
#include "queue/await.h"
#include "web/url_escape.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

constexpr std::string_view kFailed = "error-archiveorg-upload";
constexpr std::size_t kErrorBytesMax = 300;

bool is_plain(char c) {
  return web::is_alpha(c) || web::is_digit(c) || c == '.' || c == '_' || c == '-';
}

Kept failed(std::string message, bool passing) {
  Kept kept;
  kept.status = kFailed;
  kept.message = std::move(message);
  kept.passing = passing;
  return kept;
}

Kept succeeded(std::string_view status) {
  Kept kept;
  kept.status = status;
  return kept;
}

// "<Message>…</Message>" of an S3 error; the beginning of anything else.
std::string message_in(const std::string& body) {
  constexpr std::string_view kBegin = "<Message>";
  std::string_view text = body;
  if (const std::size_t at = text.find(kBegin); at != std::string_view::npos) {
    text.remove_prefix(at + kBegin.size());
    text = text.substr(0, text.find('<'));
  }
  return valid_utf8(text.substr(0, kErrorBytesMax));
}

std::string base64_of_hex(std::string_view hex) {
  std::string raw;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    raw += static_cast<char>(web::hex_value(hex[i]) << 4 | web::hex_value(hex[i + 1]));
  }
  return base64_encoded(raw);
}

bool is_md5(std::string_view hex) {
  return hex.size() == 32 && std::ranges::all_of(hex, [](char c) {
           return web::hex_value(static_cast<unsigned char>(c)) >= 0;
         });
}

std::string header_text(std::string_view text) {
  // Cut where a character ends.
  text = text.substr(0, kMetaValueBytesMax);
  text = text.substr(0, valid_utf8_prefix(text) == 0 ? text.size() : valid_utf8_prefix(text));
  const bool plain = std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7F; });
  if (plain && !text.starts_with("uri(")) return std::string(text);
  return fmt::format("uri({})", net::percent_encoded(text));
}

std::optional<std::string> text_of(const json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_int64() || value.is_uint64() || value.is_bool()) return json::serialize(value);
  return std::nullopt;
}

// Of a key of the metadata: "_" may not stand in the name of a header.
std::string header_name(std::string_view key, std::size_t number) {
  std::string name = fmt::format("x-archive-meta{:02}-", number);
  for (const char c : key) {
    if (c == '_') {
      name += "--";
    } else if (web::is_alpha(c) || web::is_digit(c) || c == '-') {
      name += web::to_lower(c);
    }
  }
  return name;
}

bool is_same_file(const ManifestFile& wanted, const ManifestFile& there) {
  if (wanted.size && there.size && *wanted.size != *there.size) return false;
  const bool sha1 = !wanted.sha1.empty() && wanted.sha1 == there.sha1;
  const bool md5 = !wanted.md5.empty() && wanted.md5 == there.md5;
  return sha1 || md5;
}

// As the original, which goes on in the list where it was.
std::vector<bool> found_in_order(const std::vector<ManifestFile>& manifest,
                                 const std::vector<ManifestFile>& there) {
  std::vector<bool> found(manifest.size(), false);
  auto next = there.begin();
  for (std::size_t i = 0; i < manifest.size(); ++i) {
    while (next != there.end() && next->path != manifest[i].path) ++next;
    if (next == there.end()) return found;
    const bool sized = next->size == manifest[i].size;
    found[i] = sized && is_same_file(manifest[i], *next);
    ++next;
    if (!found[i]) return found;
  }
  return found;
}

// What is wrong with an order before anything is sent; empty: nothing.
std::string complaint_of(const PlatformItem& item, const std::string& path,
                         const ItemUploadOptions& options) {
  if (options.access_key.empty() || options.secret_key.empty()) {
    return "there is no archive.org account: set its access key and secret key";
  }
  if (!is_item_name(item.archiveorg_item_name)) {
    return fmt::format("\"{}\" cannot be the name of an item", item.archiveorg_item_name);
  }
  if (path.empty() || path.size() > kItemPathBytesMax || path.starts_with('/') ||
      path.ends_with('/') || path.find('\0') != std::string::npos || !is_valid_utf8(path)) {
    return "the file's path cannot stand in an item";
  }
  return {};
}

}  // namespace

bool is_item_name(std::string_view name) {
  if (name.size() < kItemNameMin || name.size() > kItemNameMax) return false;
  if (!web::is_alpha(name.front()) && !web::is_digit(name.front())) return false;
  return std::ranges::all_of(name, is_plain);
}

std::string item_target(std::string_view item, std::string_view path) {
  std::string target = "/" + std::string(item);
  for (;;) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    net::append_segment(target, path.substr(0, slash));
    if (slash == path.size()) return target;
    path.remove_prefix(slash + 1);
  }
}

web::HeaderList meta_headers(const json::object& meta) {
  web::HeaderList headers;
  const auto add = [&headers](std::string_view key, std::size_t number, const json::value& value) {
    const std::optional<std::string> text = text_of(value);
    if (!text || text->empty() || headers.size() >= kMetaHeadersMax) return;
    headers.emplace_back(header_name(key, number), header_text(*text));
  };
  for (const auto& [key, value] : meta) {
    if (!value.is_array()) {
      add(key, 0, value);
      continue;
    }
    std::size_t number = 0;
    for (const json::value& element : value.get_array()) add(key, number++, element);
  }
  return headers;
}

std::vector<bool> files_there(const std::vector<ManifestFile>& manifest,
                              const std::vector<ManifestFile>& there, Compat compat) {
  if (compat == Compat::Strict) return found_in_order(manifest, there);
  std::map<std::string_view, const ManifestFile*> by_path;
  for (const ManifestFile& file : there) by_path.emplace(file.path, &file);
  std::vector<bool> found;
  for (const ManifestFile& file : manifest) {
    const auto same = by_path.find(file.path);
    found.push_back(same != by_path.end() && is_same_file(file, *same->second));
  }
  return found;
}

web::HeaderList ItemUpload::authorization() const {
  if (options_.access_key.empty()) return {};
  return {{"Authorization", fmt::format("LOW {}:{}", options_.access_key, options_.secret_key)}};
}

net::Task<ItemArchive::Existing> ItemUpload::load_files(std::string item) {
  Existing existing;
  Ask ask;
  ask.url = options_.base + "/metadata";
  net::append_segment(ask.url, item);
  ask.headers = authorization();
  const Answer answer = co_await outside_.ask(std::move(ask));
  if (answer.problem != web::FetchProblem::None || answer.status != 200) {
    existing.status = kFailed;
    existing.message = fmt::format("the item's metadata cannot be had: status {}; {}",
                                   answer.status, answer.message);
    co_return existing;
  }
  Result<std::vector<ManifestFile>> files = parse_item_files(answer.body);
  if (!files.ok()) {
    existing.status = kFailed;
    existing.message = files.error().message();
    co_return existing;
  }
  existing.status = "success";
  existing.files = *std::move(files);
  co_return existing;
}

net::Task<ItemArchive::Existing> ItemUpload::check_existing(const PlatformItem& item) {
  return check(item);
}

net::Task<ItemArchive::Existing> ItemUpload::check(PlatformItem item) {
  if (!is_item_name(item.archiveorg_item_name)) {
    Existing none;
    none.status = "success";  // there is no such item, and there will be none
    co_return none;
  }
  std::string name = item.archiveorg_item_name;
  Existing existing = co_await load_files(std::move(name));
  const std::vector<bool> found = files_there(item.manifest, existing.files, options_.compat);
  existing.complete = !found.empty() && std::ranges::all_of(found, [](bool is) { return is; });
  co_return existing;
}

net::Task<Kept> ItemUpload::upload(const PlatformItem& item, const ManifestFile& file,
                                   const std::filesystem::path& bytes, std::int64_t total) {
  Order order{item, file, bytes, total};
  order.item.manifest.clear();
  return put(std::move(order));
}

net::Task<Kept> ItemUpload::put(Order order) {
  std::string complaint = complaint_of(order.item, order.file.path, options_);
  if (!complaint.empty()) co_return failed(std::move(complaint), false);
  // The part is what is sent: its digest, not the platform's, is what the service must see.
  auto measure = [bytes = order.bytes] { return meta_of_file(bytes); };
  Result<FileMeta> meta = co_await queue::offload(loop_, pool_, std::move(measure));
  if (!meta.ok()) co_return failed(meta.error().message(), true);
  if (is_md5(order.file.md5) && order.file.md5 != meta->md5) {
    co_return failed("the file has changed since it was verified", true);
  }
  order.file.md5 = meta->md5;
  order.file.size = meta->size;
  std::string name = order.item.archiveorg_item_name;
  const Existing existing = co_await load_files(name);
  for (const ManifestFile& there : existing.files) {
    if (there.path == order.file.path && there.md5 == meta->md5) co_return succeeded("exists");
  }
  Ask ask;
  ask.url = options_.s3 + item_target(order.item.archiveorg_item_name, order.file.path);
  ask.method = "PUT";
  ask.headers = authorization();
  ask.headers.emplace_back("Content-MD5", base64_of_hex(meta->md5));
  ask.headers.emplace_back("x-archive-auto-make-bucket", "1");
  ask.headers.emplace_back("x-archive-queue-derive", "0");
  ask.headers.emplace_back("x-archive-size-hint", std::to_string(order.total));
  for (auto& header : meta_headers(order.item.archiveorg_item_meta)) {
    ask.headers.push_back(std::move(header));
  }
  ask.file = order.bytes;
  ask.total_ms = options_.upload_ms;
  ask.tries = 1;  // ours, below: the service wants to be asked how busy it is first
  co_return co_await send(std::move(order), std::move(ask));
}

// Until it is taken, or nothing will help.
net::Task<Kept> ItemUpload::send(Order order, Ask ask) {
  int slow = 0;
  int tries = 0;
  for (;;) {
    Ask once = ask;
    const Answer answer = co_await outside_.ask(std::move(once));
    if (answer.problem == web::FetchProblem::None && answer.status >= 200 && answer.status < 300) {
      co_return succeeded("success");
    }
    if (answer.status == 503 || answer.status == 429) {
      bool over = true;
      while (over) {
        if (++slow > options_.slow_tries_max) {
          co_return failed("archive.org asks to slow down, again and again", true);
        }
        const bool open = co_await rest(loop_, outside_, options_.slow_ms);
        if (!open) co_return failed("it was stopped", true);
        std::string name = order.item.archiveorg_item_name;
        over = co_await is_over_limit(std::move(name));
      }
      continue;
    }
    const bool spoiled = answer.status == 400 && answer.body.find("BadDigest") != std::string::npos;
    const bool passing =
        answer.problem != web::FetchProblem::None || answer.status >= 500 || spoiled;
    if (passing && ++tries < kUploadTriesMax) {
      const bool open = co_await rest(loop_, outside_, options_.slow_ms);
      if (open) continue;
    }
    const std::string why =
        answer.problem == web::FetchProblem::None ? message_in(answer.body) : answer.message;
    co_return failed(fmt::format("archive.org did not take {}: status {}; {}", order.file.path,
                                 answer.status, why),
                     passing);
  }
}

net::Task<bool> ItemUpload::is_over_limit(std::string item) {
  Ask ask;
  ask.url = options_.s3 + "/";
  net::append_query(ask.url, "check_limit", "1");
  net::append_query(ask.url, "accesskey", options_.access_key);
  net::append_query(ask.url, "bucket", item);
  ask.tries = 1;
  const Answer answer = co_await outside_.ask(std::move(ask));
  if (answer.problem != web::FetchProblem::None || answer.status != 200) co_return true;
  boost::system::error_code broken;
  const json::value value = json::parse(answer.body, broken);
  const json::object* object = broken ? nullptr : value.if_object();
  const json::value* over = object == nullptr ? nullptr : object->if_contains("over_limit");
  // What says nothing is asked by sending.
  if (over == nullptr) co_return false;
  if (over->is_bool()) co_return over->get_bool();
  co_return !over->is_int64() || over->get_int64() != 0;
}

net::Task<Kept> ItemUpload::verify(const PlatformItem& item) {
  return verify_all(item);
}

net::Task<Kept> ItemUpload::verify_all(PlatformItem item) {
  std::string why = "the item cannot be seen yet";
  for (int look = 0; look < options_.verify_tries_max; ++look) {
    const bool open = co_await rest(loop_, outside_, look > 0 ? options_.verify_ms : 0);
    if (!open) co_return failed("it was stopped", true);
    std::string name = item.archiveorg_item_name;
    const Existing existing = co_await load_files(std::move(name));
    if (existing.status != "success") {
      why = existing.message;
      continue;
    }
    const std::vector<bool> found = files_there(item.manifest, existing.files, Compat::Default);
    const auto missing = std::ranges::find(found, false);
    if (missing == found.end()) co_return succeeded("success");
    const auto at = static_cast<std::size_t>(missing - found.begin());
    why = fmt::format("{} is not in the item yet as it was sent", item.manifest[at].path);
  }
  co_return failed(std::move(why), true);
}

}  // namespace quern::fileset
