#include "fileset/persist.h"

#include <algorithm>
#include <array>
#include <optional>

namespace quern::fileset {
namespace {

namespace json = boost::json;
using std::literals::operator""sv;
using store::Sql;
using store::Tx;

constexpr std::array kRequestTypes = {"pdf"sv, "xml"sv, "html"sv, "dataset"sv, "dataset-file"sv};
constexpr std::array kResultTypes = {"pdf"sv, "xml"sv,     "html"sv,        "component"sv,
                                     "src"sv, "dataset"sv, "dataset-file"sv};

constexpr Sql kRequest{
    "INSERT INTO ingest_request (link_source, link_source_id, ingest_type, base_url,"
    " release_stage, request, ingest_request_source) VALUES ($1, $2, $3, $4, $5, $6, $7)"
    " ON CONFLICT DO NOTHING",
    "INSERT INTO ingest_request (link_source, link_source_id, ingest_type, base_url,"
    " release_stage, request, ingest_request_source)"
    " VALUES ($1, $2, $3, $4, $5, CAST($6 AS jsonb), $7) ON CONFLICT DO NOTHING"};
constexpr Sql kResult{
    "INSERT INTO ingest_file_result (ingest_type, base_url, hit, status, terminal_url,"
    " terminal_dt, terminal_status_code, terminal_sha1hex)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (ingest_type, base_url) DO UPDATE"
    " SET updated = CURRENT_TIMESTAMP, hit = excluded.hit, status = excluded.status,"
    " terminal_url = excluded.terminal_url, terminal_dt = excluded.terminal_dt,"
    " terminal_status_code = excluded.terminal_status_code,"
    " terminal_sha1hex = excluded.terminal_sha1hex"};
#define QUERN_PLATFORM(manifest)                                                              \
  "INSERT INTO ingest_fileset_platform (ingest_type, base_url, hit, status, platform_name,"   \
  " platform_domain, platform_id, ingest_strategy, total_size, file_count,"                   \
  " archiveorg_item_name, archiveorg_item_bundle_path, web_bundle_url, web_bundle_dt,"        \
  " manifest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, " manifest \
  ") ON CONFLICT (ingest_type, base_url) DO UPDATE SET updated = CURRENT_TIMESTAMP,"          \
  " hit = excluded.hit, status = excluded.status, platform_name = excluded.platform_name,"    \
  " platform_domain = excluded.platform_domain, platform_id = excluded.platform_id,"          \
  " ingest_strategy = excluded.ingest_strategy, total_size = excluded.total_size,"            \
  " file_count = excluded.file_count, archiveorg_item_name = excluded.archiveorg_item_name,"  \
  " archiveorg_item_bundle_path = excluded.archiveorg_item_bundle_path,"                      \
  " web_bundle_url = excluded.web_bundle_url, web_bundle_dt = excluded.web_bundle_dt,"        \
  " manifest = excluded.manifest"
constexpr Sql kPlatform{QUERN_PLATFORM("$15"), QUERN_PLATFORM("CAST($15 AS jsonb)")};
constexpr Sql kFileMeta{
    "INSERT INTO file_meta (sha1hex, sha256hex, md5hex, size_bytes, mimetype)"
    " VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING"};
constexpr Sql kCdx{
    "INSERT INTO cdx (url, datetime, sha1hex, mimetype, warc_path, warc_csize, warc_offset)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING"};

using Text = std::optional<std::string>;

bool has(const auto& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

const json::object* object_in(const json::object& from, std::string_view key) {
  const json::value* value = from.if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

// Nothing where it is missing or empty.
Text text_in(const json::object* from, std::string_view key) {
  const json::value* value = from == nullptr ? nullptr : from->if_contains(key);
  if (value == nullptr || !value->is_string() || value->get_string().empty()) return std::nullopt;
  return std::string(value->get_string());
}

// Nothing where it has another length, which the table would refuse.
Text text_of(const json::object* from, std::string_view key, std::size_t bytes) {
  Text text = text_in(from, key);
  return text && text->size() == bytes ? text : std::nullopt;
}

std::optional<std::int64_t> number_in(const json::object* from, std::string_view key) {
  const json::value* value = from == nullptr ? nullptr : from->if_contains(key);
  if (value == nullptr) return std::nullopt;
  boost::system::error_code failed;
  const auto number = value->to_number<std::int64_t>(failed);
  return failed ? std::nullopt : std::optional(number);
}

struct Head {
  std::string type;
  std::string base_url;
  std::string status;
  bool hit = false;
};

std::optional<Head> head_of(const json::object& result) {
  const json::object* request = object_in(result, "request");
  const Text type = text_in(request, "ingest_type");
  const Text base_url = text_in(request, "base_url");
  const Text status = text_in(&result, "status");
  const json::value* hit = result.if_contains("hit");
  if (!type || !base_url || !status || hit == nullptr || !hit->is_bool()) return std::nullopt;
  if (!has(kResultTypes, *type) || base_url->size() > kBaseUrlBytesMax) return std::nullopt;
  return Head{*type, *base_url, *status, hit->get_bool()};
}

Result<> put_result(Tx& tx, const Head& head, const json::object& result) {
  const json::object* terminal = object_in(result, "terminal");
  const Text url = text_in(terminal, "terminal_url");
  if (url && url->size() > kStoredTerminalBytesMax) return {};
  TRY(tx.exec(kResult, head.type, head.base_url, head.hit, head.status, url,
              text_of(terminal, "terminal_dt", 14), number_in(terminal, "terminal_status_code"),
              text_of(terminal, "terminal_sha1hex", 40)));
  return {};
}

Result<> put_platform(Tx& tx, const Head& head, const json::object& result) {
  const Text name = text_in(&result, "platform_name");
  const Text domain = text_in(&result, "platform_domain");
  const Text id = text_in(&result, "platform_id");
  if (!name || !domain || !id) return {};
  Text manifest;
  if (const json::value* list = result.if_contains("manifest")) manifest = json::serialize(*list);
  const json::object* bundle = object_in(result, "fileset_bundle");
  const json::object* terminal = bundle == nullptr ? nullptr : object_in(*bundle, "terminal");
  TRY(tx.exec(kPlatform, head.type, head.base_url, head.hit, head.status, *name, *domain, *id,
              text_in(&result, "ingest_strategy"), number_in(&result, "total_size"),
              number_in(&result, "file_count"), text_in(&result, "archiveorg_item_name"),
              text_in(bundle, "archiveorg_bundle_path"), text_in(terminal, "terminal_url"),
              text_of(terminal, "terminal_dt", 14), manifest));
  return {};
}

Result<> put_file_meta(Tx& tx, const json::object& result) {
  const json::object* meta = object_in(result, "file_meta");
  const Text sha1 = text_of(meta, "sha1hex", 40);
  if (!sha1) return {};
  TRY(tx.exec(kFileMeta, *sha1, text_of(meta, "sha256hex", 64), text_of(meta, "md5hex", 32),
              number_in(meta, "size_bytes"), text_in(meta, "mimetype")));
  return {};
}

Result<> put_cdx(Tx& tx, const json::object& result) {
  const json::object* cdx = object_in(result, "cdx");
  const Text url = text_in(cdx, "url");
  const Text datetime = text_of(cdx, "datetime", 14);
  const Text sha1 = text_of(cdx, "sha1hex", 40);
  const Text path = text_in(cdx, "warc_path");
  if (!url || !datetime || !sha1 || !path || url->size() > kStoredTerminalBytesMax) return {};
  TRY(tx.exec(kCdx, *url, *datetime, *sha1, text_in(cdx, "mimetype"), *path,
              number_in(cdx, "warc_csize"), number_in(cdx, "warc_offset")));
  return {};
}

}  // namespace

Result<> persist_request(Tx& tx, const Request& request) {
  if (request.link_source.empty() || request.link_source_id.empty()) return {};
  if (!has(kRequestTypes, request.ingest_type)) return {};
  if (request.base_url.size() > kStoredRequestUrlBytesMax) return {};
  if (request.link_source.size() + request.link_source_id.size() > 1000) return {};
  const auto known = [](const std::string& text) { return text.empty() ? Text() : Text(text); };
  TRY(tx.exec(kRequest, request.link_source, request.link_source_id, request.ingest_type,
              request.base_url, known(request.release_stage), json::serialize(request.raw),
              known(request.ingest_request_source)));
  return {};
}

Result<> persist_result(Tx& tx, const json::object& result) {
  const std::optional<Head> head = head_of(result);
  if (!head || head->status == "existing") return {};
  TRY(put_result(tx, *head, result));
  if (head->type == kDataset) TRY(put_platform(tx, *head, result));
  if (!head->hit) return {};
  TRY(put_file_meta(tx, result));
  return put_cdx(tx, result);
}

}  // namespace quern::fileset
