#include "fileset/status.h"

#include <algorithm>
#include <array>

namespace quern::fileset {
namespace {

using std::literals::operator""sv;

constexpr std::array kHits = {"success"sv, "success-file"sv, "success-existing"sv};
// The network, or a service that may be better in a moment.
constexpr std::array kPassing = {"spn2-backoff"sv,
                                 "spn2-cdx-lookup-failure"sv,
                                 "spn2-wayback-error"sv,
                                 "spn2-error"sv,
                                 "petabox-error"sv,
                                 "cdx-error"sv,
                                 "wayback-error"sv,
                                 "gateway-timeout"sv,
                                 "platform-error"sv,
                                 "platform-http-error"sv,
                                 "error-platform-download"sv,
                                 "error-archiveorg-upload"sv,
                                 "timeout"sv,
                                 "invalid-host-resolution"sv,
                                 "read-timeout"sv,
                                 "no-capture"sv,
                                 "spn2-recent-capture"sv,
                                 "remote-server-error"sv,
                                 "not-processed"sv,
                                 "connection-error"sv};
// Nothing of it depends on the day.
constexpr std::array kNever = {"skip-url-blocklist"sv,
                               "not-implemented"sv,
                               "platform-scope"sv,
                               "no-platform-match"sv,
                               "too-large-size"sv,
                               "too-many-files"sv,
                               "no-strategy-helper"sv,
                               "unsafe-path"sv,
                               "body-too-large"sv,
                               "bad-gzip-encoding"sv,
                               "empty-manifest"sv,
                               "spn2-no-ftp"sv,
                               "invalid-url"sv,
                               "bad-request"sv,
                               "spn2-error:invalid-url-syntax"sv,
                               "spn2-error:blocked-url"sv,
                               "spn2-error:filesize-limit"sv,
                               "spn2-error:not-found"sv,
                               "spn2-error:too-many-redirects"sv,
                               "spn2-error:network-authentication-required"sv,
                               "spn2-error:unknown"sv};

bool has(const auto& list, std::string_view status) {
  return std::ranges::find(list, status) != list.end();
}

}  // namespace

std::string_view to_string(RetryClass retry) {
  switch (retry) {
    case RetryClass::Hit:
      return "hit";
    case RetryClass::Passing:
      return "passing";
    case RetryClass::Later:
      return "later";
    case RetryClass::Never:
      return "never";
  }
  return "later";
}

bool is_hit(std::string_view status) {
  return has(kHits, status);
}

RetryClass retry_class(std::string_view status) {
  if (is_hit(status)) return RetryClass::Hit;
  if (has(kNever, status)) return RetryClass::Never;
  if (has(kPassing, status) || status.starts_with("spn2-")) return RetryClass::Passing;
  return RetryClass::Later;
}

bool leaves_part(std::string_view file_status) {
  return file_status == "canceled" || file_status == "error-platform-download" ||
         file_status == "error-archiveorg-upload";
}

}  // namespace quern::fileset
