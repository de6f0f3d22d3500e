// ApiPlatform: what platforms with an API have in common: asking it, what its statuses mean, and
// the last look at what was made of its answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fileset/platform.h"
#include "fileset/platform_json.h"
#include "net/target.h"
#include "web/url.h"

namespace quern::fileset {

// A manifest beyond this is not even listed to its end.
inline constexpr std::size_t kManifestFilesMax = 50'000;
inline constexpr int kPagesMax = 1'000;  // of one listing
inline constexpr std::size_t kItemNameMax = 100;
inline constexpr std::size_t kItemNameMin = 3;

PlatformAnswer refused(std::string status, std::string message);
// Where asking again later may help.
PlatformAnswer refused_for_now(std::string status, std::string message);
inline bool is_refused(const PlatformAnswer& answer) {
  return answer.status != "success";
}

struct ApiAnswer {
  PlatformAnswer refusal;  // a success where there is a value
  boost::json::value value;
  std::string url;            // that was asked
  int http_status = 0;        // 0: no answer
  std::int64_t asked_us = 0;  // wall clock; 0: unknown

  bool ok() const { return !is_refused(refusal); }
  Field field() const { return Field(value); }
  // Whether a date ("2027-01-31…") lies ahead. Of an unknown day everything does.
  bool is_ahead(std::string_view date) const;
};

// What the answer of an API means: 404 is platform-404; 500, 502, 504, no answer and no JSON are
// platform-error; every other failure is platform-http-error.
ApiAnswer judge_answer(const std::string& url, const Answer& answer);

// Where a landing is.
struct Place {
  web::Url url;
  std::string host;
  net::Target target;

  const std::vector<std::string>& path() const { return target.segments; }
  std::string_view segment(std::size_t i) const {
    return i < path().size() ? std::string_view(path()[i]) : std::string_view();
  }
  std::string parameter(std::string_view name) const;
};
std::optional<Place> place_of(const Landing& landing);

// The DOI ("10.…/…") that the text is, or that its address leads to; empty where there is none.
std::string doi_in(std::string_view text);
// Parts joined with "-"; only what archive.org lets an item be called, and as long as that: what is
// longer ends with a digest of the whole.
std::string item_name(const std::vector<std::string>& parts);
// "a b.csv" of "https://x.org/d/a%20b.csv?x"; empty where the path ends with "/".
std::string file_name_of(const web::Url& url);
// Whether the address is one for files: http or https, with a host.
bool is_web_address(std::string_view url);
// A link of an API's answer as an address, where it stays on the machine that gave it; else empty:
// nobody is led elsewhere by what should be the next page.
std::string link_within(std::string_view api, std::string_view link);
// A name that none of the manifest's files has: "a.csv", "a-2.csv", …
std::string unused_path(const PlatformItem& item, const std::string& path);
// "text/csv" -> ".csv"; empty where it is unknown.
std::string_view extension_of(std::string_view mimetype);

// The last look at an item. Two files of one path are platform-error, none at all is empty-manifest
// (with the item), too many are too-many-files.
PlatformAnswer finished(PlatformItem item);

class ApiPlatform : public Platform {
 protected:
  explicit ApiPlatform(PlatformOptions options) : options_(std::move(options)) {}

  net::Task<ApiAnswer> get(Outside& outside, std::string url) const;
  net::Task<ApiAnswer> get(Outside& outside, std::string url, web::HeaderList headers) const;
  const PlatformOptions& options() const { return options_; }

 private:
  PlatformOptions options_;
};

}  // namespace quern::fileset
