#include "support/archive_site.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <future>

#include "base/base64.h"
#include "base/check.h"
#include "net/target.h"

namespace quern::support {
namespace {

namespace json = boost::json;

constexpr std::size_t kBodyBytesMax = 256UL * 1024 * 1024;
constexpr std::string_view kReplayPath = "/web/";

std::string raw_digest(const EVP_MD* kind, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
  unsigned size = 0;
  CHECK(::EVP_Digest(bytes.data(), bytes.size(), raw.data(), &size, kind, nullptr) == 1);
  return {reinterpret_cast<const char*>(raw.data()), size};
}

std::string hex_of(std::string_view raw) {
  std::string hex;
  for (const char c : raw) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return hex;
}

net::Response json_of(const json::value& value) {
  return net::json_response(200, json::serialize(value));
}

// As S3 says it.
net::Response s3_error(int status, std::string_view code, std::string_view message) {
  net::Response response;
  response.status = status;
  response.headers.add("Content-Type", "application/xml");
  response.body = fmt::format(
      "<?xml version='1.0' encoding='UTF-8'?>\n<Error><Code>{}</Code><Message>{}</Message>"
      "<Resource>-</Resource><RequestId>1</RequestId></Error>",
      code, message);
  return response;
}

std::string header_of(const SiteCall& call, std::string_view name) {
  const std::string* value = call.headers.find(name);
  return value == nullptr ? "" : *value;
}

std::string parameter_of(const net::Target& target, std::string_view name) {
  const std::string* value = target.find(name);
  return value == nullptr ? "" : *value;
}

// "uri(caf%C3%A9)" and plain texts.
std::string meta_text(const std::string& value) {
  if (!value.starts_with("uri(") || !value.ends_with(")")) return value;
  return net::percent_decoded(value.substr(4, value.size() - 5), net::Plus::IsPlus).value_or(value);
}

// "x-archive-meta01-is--part--of": is_part_of.
std::map<std::string, std::vector<std::string>> metadata_in(const net::Headers& headers) {
  std::map<std::string, std::vector<std::string>> metadata;
  for (const net::Header& header : headers) {
    std::string name = header.name;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    constexpr std::string_view kBegin = "x-archive-meta";
    if (!name.starts_with(kBegin)) continue;
    std::string key = name.substr(std::min(name.find('-', kBegin.size()) + 1, name.size()));
    for (std::size_t at = 0; (at = key.find("--", at)) != std::string::npos; ++at) {
      key.replace(at, 2, "_");
    }
    metadata[key].push_back(meta_text(header.value));
  }
  return metadata;
}

json::array cdx_row(const SiteCapture& capture, bool whole) {
  json::array row{capture.url, capture.datetime, capture.url, capture.mimetype};
  row.push_back(capture.status == 0 ? json::value("-")
                                    : json::value(std::to_string(capture.status)));
  row.push_back(json::value(capture.digest.empty() ? site_digest(capture.body) : capture.digest));
  if (whole) {
    row.emplace_back("-");
    row.emplace_back("-");
  }
  row.push_back(json::value(std::to_string(capture.body.size())));
  if (whole) {
    row.emplace_back("0");
    row.push_back(json::value(capture.warc));
  }
  return row;
}

}  // namespace

std::string site_digest(std::string_view bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  std::string out;
  unsigned bits = 0;
  unsigned count = 0;
  for (const char c : raw_digest(::EVP_sha1(), bytes)) {
    bits = (bits << 8 | static_cast<unsigned char>(c)) & 0xFFFF;
    for (count += 8; count >= 5;) {
      count -= 5;
      out += kAlphabet[bits >> count & 31];
    }
  }
  return out;
}

ArchiveSite::ArchiveSite() {
  net::ServerOptions options;
  options.listen = {*net::Endpoint::parse("127.0.0.1:0")};
  auto opened = net::Server::open(loop_, std::move(options), [this](net::Exchange& exchange) {
    return handle(this, exchange);
  });
  CHECK_OK(opened);
  server_ = std::make_unique<net::Server>(*std::move(opened));
  origin_ = "http://" + server_->endpoints().at(0).to_string();
  thread_ = std::thread([this] { loop_.run(); });
}

ArchiveSite::~ArchiveSite() {
  std::promise<void> done;
  loop_.post([&] {
    server_.reset();
    done.set_value();
  });
  done.get_future().get();
  loop_.stop();
  thread_.join();
}

net::Task<Result<>> ArchiveSite::handle(ArchiveSite* self, net::Exchange& exchange) {
  exchange.limit_body(kBodyBytesMax);
  SiteCall call;
  call.method = exchange.request().method_text;
  call.target = exchange.request().target;
  call.headers = exchange.request().headers;
  CO_TRY_ASSIGN(call.body, co_await exchange.read_all(kBodyBytesMax));
  net::Response response;
  {
    const std::lock_guard lock(self->mutex_);
    self->calls_.push_back(call);
    response = self->answer(call);
  }
  co_return co_await exchange.respond(std::move(response));
}

net::Response ArchiveSite::answer(const SiteCall& call) {
  const std::string_view target = call.target;
  if (target.starts_with("/cdx/search/cdx")) return answer_cdx(call);
  if (target.starts_with(kReplayPath)) return answer_replay(call);
  if (target.starts_with("/save")) return answer_save(call);
  if (target.starts_with("/s3/")) return answer_s3(call);
  if (target.starts_with("/metadata/")) return answer_metadata(call.target.substr(10));
  if (target.starts_with("/download/")) return answer_download(target.substr(10));
  return net::text_response(404, "there is nothing here\n");
}

bool ArchiveSite::fails(Fault fault) {
  const auto found = faults_.find(fault);
  if (found == faults_.end() || found->second == 0) return false;
  --found->second;
  return true;
}

bool ArchiveSite::is_authorized(const SiteCall& call) const {
  return header_of(call, "Authorization") == fmt::format("LOW {}:{}", kAccessKey, kSecretKey);
}

// The oldest first; a negative limit asks for the newest. Who has no token sees seven fields.
net::Response ArchiveSite::answer_cdx(const SiteCall& call) {
  if (fails(Fault::CdxDown)) return net::text_response(503, "Service Unavailable");
  if (fails(Fault::CdxBroken)) return net::json_response(200, "[[\"urlkey\", \"timest");
  const net::Target target = net::parse_target(call.target).value_or({});
  const std::string url = parameter_of(target, "url");
  const std::string from = parameter_of(target, "from");
  const std::string to = parameter_of(target, "to");
  const std::string filter = parameter_of(target, "filter");
  const int limit = std::atoi(parameter_of(target, "limit").c_str());
  const bool whole =
      header_of(call, "Cookie").find("cdx_auth_token=" + kCdxToken) != std::string::npos;
  std::vector<SiteCapture> found;
  for (const SiteCapture& capture : captures_) {
    if (capture.url != url) continue;
    if (!from.empty() && (capture.datetime < from || capture.datetime > to)) continue;
    if (!filter.empty() && filter != fmt::format("statuscode:{}", capture.status)) continue;
    found.push_back(capture);
  }
  std::ranges::sort(found, {}, &SiteCapture::datetime);
  if (!found.empty() && fails(Fault::IndexLate)) found.clear();
  const auto most = static_cast<std::size_t>(std::abs(limit));
  if (limit > 0 && found.size() > most) found.resize(most);
  if (limit < 0 && found.size() > most) {
    found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(most));
  }
  json::array rows;
  if (!found.empty()) {
    rows.push_back(whole ? json::array{"urlkey", "timestamp", "original", "mimetype", "statuscode",
                                       "digest", "redirect", "robotflags", "length", "offset",
                                       "filename"}
                         : json::array{"urlkey", "timestamp", "original", "mimetype", "statuscode",
                                       "digest", "length"});
  }
  for (const SiteCapture& capture : found) rows.push_back(cdx_row(capture, whole));
  return json_of(rows);
}

net::Response ArchiveSite::answer_replay(const SiteCall& call) {
  const std::string_view rest = std::string_view(call.target).substr(kReplayPath.size());
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos || !rest.substr(0, slash).ends_with("id_")) {
    return net::text_response(404, "Not Found");
  }
  const std::string datetime(rest.substr(0, slash - 3));
  const std::string url(rest.substr(slash + 1));
  const SiteCapture* near = nullptr;
  for (const SiteCapture& capture : captures_) {
    if (capture.url != url) continue;
    if (near == nullptr || capture.datetime == datetime) near = &capture;
  }
  if (near == nullptr) return net::text_response(404, "The Wayback Machine has not archived that");
  net::Response response;
  if (near->datetime != datetime) {  // the nearest that there is
    response.status = 302;
    response.headers.add("Location", fmt::format("{}{}id_/{}", replay(), near->datetime, url));
    return response;
  }
  response.status = near->status == 0 ? 200 : near->status;
  response.headers.add("Content-Type", near->mimetype);
  if (!fails(Fault::ReplayPlain)) response.headers.add("X-Archive-Src", near->warc);
  if (!near->location.empty()) {
    response.headers.add("Location",
                         fmt::format("{}{}id_/{}", kReplayPath, near->datetime, near->location));
  }
  response.body = near->body;
  return response;
}

net::Response ArchiveSite::answer_save(const SiteCall& call) {
  if (!is_authorized(call))
    return net::json_response(401, R"({"message":"You need to be logged in"})");
  if (fails(Fault::SpnLimited))
    return net::json_response(429, R"({"message":"Too Many Requests"})");
  if (call.target == "/save/status/user") {
    const int available = fails(Fault::SpnBusy) ? 0 : 23;
    return json_of({{"available", available},
                    {"daily_captures", 12},
                    {"daily_captures_limit", 300000},
                    {"processing", 24 - available}});
  }
  if (call.target.starts_with("/save/status/")) return answer_job(call.target.substr(13));
  const net::Target form = net::parse_target("/?" + call.body).value_or({});
  if (call.method != "POST" || form.find("url") == nullptr) {
    return json_of({{"status", "error"},
                    {"status_ext", "error:invalid-url-syntax"},
                    {"message", "the URL syntax is not valid"}});
  }
  const std::string id = fmt::format("spn2-{:040}", jobs_.size() + 1);
  jobs_[id] = {*form.find("url"), 1};
  return json_of({{"url", *form.find("url")}, {"job_id", id}});
}

net::Response ArchiveSite::answer_job(const std::string& id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) {
    return json_of({{"status", "error"}, {"status_ext", "error:not-found"}, {"message", "no job"}});
  }
  Job& job = found->second;
  if (fails(Fault::SpnForever) || job.pending-- > 0) {
    return json_of({{"status", "pending"}, {"job_id", id}, {"resources", json::array()}});
  }
  if (const auto error = live_errors_.find(job.url); error != live_errors_.end()) {
    return json_of({{"status", "error"},
                    {"job_id", id},
                    {"status_ext", error->second},
                    {"message", "Couldn't capture the page."},
                    {"resources", json::array()}});
  }
  const auto live = live_.find(job.url);
  if (live == live_.end()) {
    return json_of({{"status", "error"},
                    {"job_id", id},
                    {"status_ext", "error:invalid-host-resolution"},
                    {"message", "Couldn't resolve host."}});
  }
  captures_.push_back(live->second);
  return json_of({{"status", "success"},
                  {"job_id", id},
                  {"original_url", live->second.url},
                  {"timestamp", live->second.datetime},
                  {"duration_sec", 6.203},
                  {"resources", json::array{live->second.url}},
                  {"outlinks", json::object()}});
}

net::Response ArchiveSite::answer_s3(const SiteCall& call) {
  if (call.target.starts_with("/s3/?")) {
    const net::Target target = net::parse_target(call.target).value_or({});
    if (parameter_of(target, "check_limit") != "1") return s3_error(400, "InvalidRequest", "what?");
    return json_of({{"accesskey", parameter_of(target, "accesskey")},
                    {"bucket", parameter_of(target, "bucket")},
                    {"detail", json::object{{"rationing_engaged", 0}}},
                    {"over_limit", fails(Fault::OverLimit) ? 1 : 0}});
  }
  if (call.method != "PUT") return s3_error(405, "MethodNotAllowed", "only PUT is here");
  if (!is_authorized(call)) {
    return s3_error(403, "AccessDenied", "Access Denied - You lack sufficient privileges");
  }
  if (fails(Fault::SlowDown)) return s3_error(503, "SlowDown", "Please reduce your request rate.");
  if (call.headers.find("Transfer-Encoding") != nullptr ||
      call.headers.find("Content-Length") == nullptr) {
    return s3_error(411, "MissingContentLength", "You must provide the Content-Length header.");
  }
  return put_file(call, std::string_view(call.target).substr(4));
}

net::Response ArchiveSite::put_file(const SiteCall& call, std::string_view target) {
  const std::size_t slash = target.find('/');
  if (slash == std::string_view::npos) return s3_error(400, "InvalidURI", "there is no file name");
  const std::string item(target.substr(0, slash));
  const Result<std::string> path =
      net::percent_decoded(target.substr(slash + 1), net::Plus::IsPlus);
  if (!path.ok()) return s3_error(400, "InvalidURI", "the name is not well escaped");
  std::string bytes = call.body;
  if (fails(Fault::Spoiled)) bytes += "?";
  const std::string md5 = raw_digest(::EVP_md5(), bytes);
  const std::string told = header_of(call, "Content-MD5");
  if (!told.empty() && told != base64_encoded(md5)) {
    return s3_error(400, "BadDigest",
                    "The Content-MD5 you specified did not match what we received.");
  }
  if (!items_.contains(item)) {
    if (header_of(call, "x-archive-auto-make-bucket") != "1") {
      return s3_error(404, "NoSuchBucket", "The specified bucket does not exist.");
    }
    items_[item].metadata = metadata_in(call.headers);  // of the first request only
  }
  SiteItem& there = items_[item];
  if (!there.files.contains(*path)) there.order.push_back(*path);
  there.files[*path] = {bytes, hex_of(md5), hex_of(raw_digest(::EVP_sha1(), bytes))};
  return net::empty_response(200);
}

// Sizes are texts; what does not exist is an empty object.
net::Response ArchiveSite::answer_metadata(const std::string& item) {
  const auto found = items_.find(item);
  if (found == items_.end() || fails(Fault::ItemLate)) return net::json_response(200, "{}");
  json::array files;
  std::size_t total = 0;
  for (auto name = found->second.order.rbegin(); name != found->second.order.rend(); ++name) {
    const SiteFile& file = found->second.files.at(*name);
    total += file.bytes.size();
    files.push_back({{"name", *name},
                     {"source", "original"},
                     {"mtime", "1600000000"},
                     {"size", std::to_string(file.bytes.size())},
                     {"md5", file.md5},
                     {"sha1", file.sha1},
                     {"crc32", "00000000"},
                     {"format", "Data"}});
  }
  files.push_back({{"name", item + "_files.xml"}, {"source", "original"}, {"format", "Metadata"}});
  json::object metadata{{"identifier", item}};
  for (const auto& [key, values] : found->second.metadata) {
    if (values.size() == 1) {
      metadata[key] = values.front();
    } else {
      metadata[key] = json::array(values.begin(), values.end());
    }
  }
  return json_of({{"created", 1600000000},
                  {"d1", "ia600000.us.archive.org"},
                  {"dir", "/1/items/" + item},
                  {"files", files},
                  {"files_count", files.size()},
                  {"item_size", total},
                  {"metadata", metadata}});
}

net::Response ArchiveSite::answer_download(std::string_view target) const {
  const std::size_t slash = std::min(target.find('/'), target.size());
  const auto item = items_.find(std::string(target.substr(0, slash)));
  const Result<std::string> path =
      net::percent_decoded(target.substr(std::min(slash + 1, target.size())), net::Plus::IsPlus);
  if (item == items_.end() || !path.ok() || !item->second.files.contains(*path)) {
    return net::text_response(404, "Not Found");
  }
  net::Response response;
  response.headers.add("Content-Type", "application/octet-stream");
  response.body = item->second.files.at(*path).bytes;
  return response;
}

void ArchiveSite::add(SiteCapture capture) {
  const std::lock_guard lock(mutex_);
  captures_.push_back(std::move(capture));
}

void ArchiveSite::set_live(const std::string& url, SiteCapture capture) {
  const std::lock_guard lock(mutex_);
  live_[url] = std::move(capture);
}

void ArchiveSite::set_live_error(const std::string& url, std::string status_ext) {
  const std::lock_guard lock(mutex_);
  live_errors_[url] = std::move(status_ext);
}

void ArchiveSite::fail(Fault fault, int times) {
  const std::lock_guard lock(mutex_);
  faults_[fault] = times;
}

std::map<std::string, SiteItem> ArchiveSite::items() const {
  const std::lock_guard lock(mutex_);
  return items_;
}

std::vector<SiteCall> ArchiveSite::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::size_t ArchiveSite::calls_to(std::string_view beginning) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      calls_, [beginning](const SiteCall& call) { return call.target.starts_with(beginning); }));
}

}  // namespace quern::support
