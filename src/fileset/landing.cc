#include "fileset/landing.h"

#include <fmt/format.h>

#include "fileset/file_meta.h"

namespace quern::fileset {

Resource failed_page(std::string status, std::string message, std::string_view url) {
  Resource page;
  page.status = std::move(status);
  page.message = std::move(message);
  page.capture.terminal_url = url;
  return page;
}

void finish_page(Resource& page, std::string_view cdx_mimetype) {
  Result<std::optional<std::string>> plain = undo_gzip(page.body, cdx_mimetype, kPageBytesMax);
  if (!plain.ok()) {
    const bool large = plain.error().kind() == Errc::TooLarge;
    page.status = large ? "body-too-large" : "bad-gzip-encoding";
    page.message = plain.error().message();
    return;
  }
  if (*plain) page.body = **std::move(plain);
  page.capture.meta = file_meta_of(page.body);
  if (page.body.empty()) {
    page.status = "empty-blob";
    page.message = "the page has no bytes";
  } else if (static_cast<std::int64_t>(page.body.size()) > kPageBytesMax) {
    page.status = "body-too-large";
    page.message = fmt::format("the page is longer than {} bytes", kPageBytesMax);
  }
}

FetchFailure failure_of(web::FetchProblem problem) {
  using Problem = web::FetchProblem;
  switch (problem) {
    case Problem::None:
      return {"success", false};
    case Problem::Address:
      return {"skip-url-blocklist", false};
    case Problem::Name:
      return {"invalid-host-resolution", true};
    case Problem::Timeout:
      return {"read-timeout", true};
    case Problem::TooLarge:
      return {"body-too-large", false};
    case Problem::Coding:
      return {"bad-gzip-encoding", false};
    case Problem::Connect:
    case Problem::Tls:
    case Problem::Protocol:
    case Problem::Canceled:
    case Problem::Internal:
      return {"connection-error", true};
  }
  return {"connection-error", true};
}

std::string mismatch_of(const ManifestFile& file, const FileMeta& meta, Compat compat) {
  const bool strict = compat == Compat::Strict;
  if (strict && !file.size) return "the manifest does not say its size";
  if (file.size && *file.size != meta.size) {
    return fmt::format("{} bytes; the manifest says {}", meta.size, *file.size);
  }
  const auto differs = [](const std::string& wanted, const std::string& is) {
    return !wanted.empty() && wanted != is;
  };
  if (differs(file.md5, meta.md5))
    return fmt::format("MD5 {}; the manifest says {}", meta.md5, file.md5);
  if (differs(file.sha1, meta.sha1)) {
    return fmt::format("SHA-1 {}; the manifest says {}", meta.sha1, file.sha1);
  }
  if (!strict && differs(file.sha256, meta.sha256)) {
    return fmt::format("SHA-256 {}; the manifest says {}", meta.sha256, file.sha256);
  }
  return {};
}

}  // namespace quern::fileset
