#include "fileset/platform_api.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "web/url_escape.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

constexpr std::size_t kShownMax = 200;  // of somebody else's words
constexpr int kJsonDepthMax = 64;

std::string shown(std::string_view text) {
  return std::string(text.substr(0, kShownMax));
}

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

bool is_gateway_failure(int status) {
  return status == 500 || status == 502 || status == 504;
}

// GitHub says 403 to who has asked too often.
bool is_throttled(const Answer& answer) {
  return answer.status == 403 &&
         (web::find_header(answer.headers, "X-RateLimit-Remaining") == "0" ||
          !web::find_header(answer.headers, "Retry-After").empty());
}

struct Extension {
  std::string_view mimetype;
  std::string_view extension;
};
constexpr Extension kExtensions[] = {
    {"application/gzip", ".gz"},
    {"application/json", ".json"},
    {"application/pdf", ".pdf"},
    {"application/x-netcdf", ".nc"},
    {"application/xml", ".xml"},
    {"application/zip", ".zip"},
    {"image/jpeg", ".jpg"},
    {"image/png", ".png"},
    {"image/tiff", ".tif"},
    {"text/csv", ".csv"},
    {"text/html", ".html"},
    {"text/plain", ".txt"},
    {"text/tab-separated-values", ".tab"},
    {"text/xml", ".xml"},
};

}  // namespace

PlatformAnswer refused(std::string status, std::string message) {
  PlatformAnswer answer;
  answer.status = std::move(status);
  answer.message = std::move(message);
  return answer;
}

PlatformAnswer refused_for_now(std::string status, std::string message) {
  PlatformAnswer answer = refused(std::move(status), std::move(message));
  answer.passing = true;
  return answer;
}

// -- Answers --

bool ApiAnswer::is_ahead(std::string_view date) const {
  if (asked_us == 0) return true;
  const std::time_t seconds = asked_us / 1'000'000;
  return date.substr(0, 10) > fmt::format("{:%Y-%m-%d}", fmt::gmtime(seconds));
}

ApiAnswer judge_answer(const std::string& url, const Answer& answer) {
  ApiAnswer judged;
  judged.url = url;
  judged.asked_us = answer.began_us;
  if (answer.problem != web::FetchProblem::None) {
    judged.refusal = refused("platform-error", fmt::format("{}: {}", url, shown(answer.message)));
    judged.refusal.passing = web::is_passing(answer.problem);
    return judged;
  }
  judged.http_status = answer.status;
  const std::string said = fmt::format("{} answered {}", url, answer.status);
  if (answer.status == 404) {
    judged.refusal = refused("platform-404", said);
  } else if (is_gateway_failure(answer.status)) {
    judged.refusal = refused_for_now("platform-error", said);
  } else if (answer.status < 200 || answer.status >= 300) {
    judged.refusal = refused("platform-http-error", said);
    judged.refusal.passing = answer.status == 429 || answer.status >= 500 || is_throttled(answer);
  }
  if (!judged.ok()) return judged;
  boost::system::error_code failed;
  json::parse_options options;
  options.max_depth = kJsonDepthMax;
  judged.value = json::parse(answer.body, failed, {}, options);
  if (failed) {
    judged.refusal = refused_for_now("platform-error",
                                     fmt::format("{} answered no JSON: {}", url, failed.message()));
  }
  return judged;
}

net::Task<ApiAnswer> ApiPlatform::get(Outside& outside, std::string url) const {
  web::HeaderList headers{{"Accept", "application/json"}};
  co_return co_await get(outside, std::move(url), std::move(headers));
}

net::Task<ApiAnswer> ApiPlatform::get(Outside& outside, std::string url,
                                      web::HeaderList headers) const {
  Ask ask;
  ask.url = url;
  ask.headers = std::move(headers);
  const Answer answer = co_await outside.ask(std::move(ask));
  co_return judge_answer(url, answer);
}

PlatformAnswer finished(PlatformItem item) {
  std::set<std::string> paths;
  for (const ManifestFile& file : item.manifest) {
    if (file.path.empty()) return refused("platform-error", "a file has no name");
    if (!paths.insert(file.path).second) {
      return refused("platform-error", "two files have the path " + shown(file.path));
    }
  }
  PlatformAnswer answer;
  if (item.manifest.empty()) answer = refused("empty-manifest", "the dataset has no files");
  if (item.manifest.size() > kManifestFilesMax) {
    return refused("too-many-files", fmt::format("more than {} files", kManifestFilesMax));
  }
  answer.item = std::move(item);
  return answer;
}

// -- Addresses --

std::string Place::parameter(std::string_view name) const {
  const std::string* found = target.find(name);
  return found == nullptr ? "" : *found;
}

std::optional<Place> place_of(const Landing& landing) {
  const std::string& from = landing.terminal_url.empty() ? landing.base_url : landing.terminal_url;
  auto url = web::Url::parse(from);
  if (!url || !url->is_web()) return std::nullopt;
  auto target = net::parse_target(url->target());
  if (!target) return std::nullopt;
  Place place{*std::move(url), "", *std::move(target)};
  place.host = place.url.host();
  while (!place.target.segments.empty() && place.target.segments.back().empty()) {
    place.target.segments.pop_back();
  }
  return place;
}

std::string doi_in(std::string_view text) {
  std::string rest = trim(text);
  const std::string lower = web::to_lower(rest);
  constexpr std::array<std::string_view, 5> kBeginnings = {
      "https://doi.org/", "http://doi.org/", "https://dx.doi.org/", "http://dx.doi.org/", "doi:"};
  for (const std::string_view beginning : kBeginnings) {
    if (!lower.starts_with(beginning)) continue;
    rest = rest.substr(beginning.size());
    if (beginning != "doi:") rest = web::undo_escapes(rest.substr(0, rest.find_first_of("?#")));
    break;
  }
  const std::size_t slash = rest.find('/');
  if (!rest.starts_with("10.") || slash == std::string::npos || slash + 1 == rest.size()) return "";
  const std::string_view registrant = std::string_view(rest).substr(3, slash - 3);
  const bool good = !registrant.empty() && std::ranges::all_of(registrant, [](char c) {
    return web::is_digit(c) || c == '.';
  });
  return good ? rest : "";
}

std::string item_name(const std::vector<std::string>& parts) {
  std::string name;
  for (const std::string& part : parts) {
    if (!name.empty()) name += '-';
    for (const char c : part) {
      const bool allowed = web::is_alpha(c) || web::is_digit(c) || c == '.' || c == '_' || c == '-';
      name += allowed ? c : '-';
    }
  }
  const std::size_t begin = name.find_first_not_of("._-");
  name.erase(0, begin == std::string::npos ? name.size() : begin);
  if (name.size() > kItemNameMax) {
    const std::string digest = fmt::format("-{:016x}", fnv1a(name));
    name = name.substr(0, kItemNameMax - digest.size()) + digest;
  }
  while (name.size() < kItemNameMin) name += '0';
  return name;
}

std::string file_name_of(const web::Url& url) {
  const std::string& path = url.path();
  return web::undo_escapes(std::string_view(path).substr(path.rfind('/') + 1));
}

bool is_web_address(std::string_view url) {
  const auto parsed = web::Url::parse(url);
  return parsed.ok() && parsed->is_web() && !parsed->host().empty();
}

std::string link_within(std::string_view api, std::string_view link) {
  const auto base = web::Url::parse(api);
  if (!base || link.empty()) return "";
  const auto url = web::Url::parse(link, *base);
  return url.ok() && url->origin() == base->origin() ? url->href() : "";
}

std::string unused_path(const PlatformItem& item, const std::string& path) {
  const auto is_used = [&](const std::string& name) {
    return std::ranges::any_of(item.manifest,
                               [&](const ManifestFile& file) { return file.path == name; });
  };
  const std::size_t dot = path.rfind('.');
  const std::size_t stem = dot == std::string::npos || dot == 0 ? path.size() : dot;
  std::string name = path;
  for (std::size_t i = 2; is_used(name); ++i) {
    name = fmt::format("{}-{}{}", path.substr(0, stem), i, path.substr(stem));
  }
  return name;
}

std::string_view extension_of(std::string_view mimetype) {
  const std::string bare = web::to_lower(trim(mimetype.substr(0, mimetype.find(';'))));
  for (const Extension& each : kExtensions) {
    if (each.mimetype == bare) return each.extension;
  }
  return "";
}

}  // namespace quern::fileset
