#include "blob/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "net/target.h"

namespace quern::blob {
namespace {

constexpr std::string_view kFile = "file:";
constexpr std::string_view kS3 = "s3://";

Error invalid(std::string_view text, std::string_view why) {
  return Error{Errc::Invalid, fmt::format("blobs '{}': {}", text, why)};
}

// What needs no escape in an address, and is never taken for something else.
bool is_plain(std::string_view name) {
  const auto is_fine = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  return !name.empty() && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), is_fine);
}

bool is_endpoint(std::string_view text) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!text.starts_with(scheme)) continue;
    const std::string_view host = text.substr(scheme.size());
    return !host.empty() && host.find_first_of("/?#@ ") == std::string_view::npos;
  }
  return false;
}

Result<BlobUrl> parse_s3(std::string_view text) {
  std::string_view rest = text.substr(kS3.size());
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  BlobUrl url{.kind = BlobUrl::Kind::S3, .bucket = std::string(rest.substr(0, end))};
  rest.remove_prefix(end);
  if (!is_plain(url.bucket)) return invalid(text, "expected s3://BUCKET/PREFIX");
  TRY_ASSIGN(const net::Target target,
             net::parse_target(rest.starts_with('/') ? std::string(rest) : fmt::format("/{}", rest))
                 .with_context(fmt::format("blobs '{}'", text)));
  for (const std::string& segment : target.segments) {
    if (segment.empty()) continue;
    if (!is_plain(segment)) return invalid(text, "the prefix has letters, digits, '-', '_', '.'");
    url.prefix += (url.prefix.empty() ? "" : "/") + segment;
  }
  for (const auto& [name, value] : target.parameters) {
    if (name != "endpoint" && name != "region") {
      return invalid(text, fmt::format("there is no parameter '{}'", name));
    }
    (name == "endpoint" ? url.endpoint : url.region) = value;
  }
  while (url.endpoint.ends_with('/')) url.endpoint.pop_back();
  if (!url.endpoint.empty() && !is_endpoint(url.endpoint)) {
    return invalid(text, "endpoint is http://HOST:PORT or https://HOST:PORT");
  }
  if (!is_plain(url.region)) return invalid(text, "that is no region");
  return url;
}

}  // namespace

BlobUrl BlobUrl::of_folder(std::filesystem::path folder) {
  return {.kind = Kind::Folder, .folder = std::move(folder)};
}

Result<BlobUrl> BlobUrl::parse(std::string_view text) {
  if (text.starts_with(kS3)) return parse_s3(text);
  if (!text.starts_with(kFile)) return invalid(text, "expected file:PATH or s3://BUCKET/PREFIX");
  const std::string_view path = text.substr(kFile.size());
  if (path.empty() || path.find('\0') != std::string_view::npos) {
    return invalid(text, "file: needs a folder's path");
  }
  return of_folder(std::filesystem::path(path));
}

std::string BlobUrl::text() const {
  if (kind == Kind::Folder) return fmt::format("{}{}", kFile, folder.native());
  std::string url = fmt::format("{}{}/{}", kS3, bucket, prefix);
  char mark = '?';
  for (const auto& [name, value] :
       {std::pair("endpoint", &endpoint), std::pair("region", &region)}) {
    if (value->empty()) continue;
    url += fmt::format("{}{}={}", mark, name, *value);
    mark = '&';
  }
  return url;
}

}  // namespace quern::blob
