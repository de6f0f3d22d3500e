// Platform: how one kind of site is asked for a dataset. A file each; platforms() lists them in the
// order in which they are tried, and the first that matches is asked.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fileset/manifest.h"
#include "fileset/outside.h"
#include "net/task.h"
#include "web/url.h"

namespace quern::fileset {

// Where a request has led.
struct Landing {
  std::string base_url;      // as it was asked for
  std::string terminal_url;  // behind redirects
  int status = 0;
  std::string mimetype;  // of the body, detected
  std::string html;      // where it is a page
  boost::json::object html_biblio;
};

struct PlatformOptions {
  // As the original: its slips as recorded, its crashes as the status "platform-error".
  bool strict = false;
  std::string github_token;
  std::string dryad_token;
};

// `status`: success, platform-scope, platform-restricted, platform-404, platform-http-error,
// platform-error, empty-manifest, too-many-files (more than anybody lists), no-platform-match (seen
// only when it was asked). `message` is for people: why it is no success, or which files a success
// has left out.
struct PlatformAnswer {
  std::string status = "success";
  std::string message;
  bool passing = false;  // asking again later may help
  PlatformItem item;     // where it is a success, or has no files
};

// What a size decides. A platform may want others.
struct StrategyLimits {
  std::int64_t files = 20;
  std::int64_t total_bytes = 1LL << 30;
  std::int64_t file_bytes = 128LL << 20;
};
struct StrategyOptions {
  StrategyLimits limits;
  bool strict = false;     // as the original: 64 MiB a file, whatever their number
  bool bundle = false;     // asked for
  bool archiveorg = true;  // whether there is an account to upload with
  std::string forced;      // a strategy by name; empty: by the rules
};

class Platform {
 public:
  virtual ~Platform() = default;
  virtual std::string_view name() const = 0;
  virtual bool match(const Landing& landing) const = 0;
  virtual net::Task<PlatformAnswer> process(const Landing& landing, Outside& outside) const = 0;
  virtual std::string choose_strategy(const PlatformItem& item,
                                      const StrategyOptions& options) const;
  // What a download from this address needs beside the usual, such as a token.
  virtual web::HeaderList download_headers(const std::string& url) const;
};

// web-file, web-fileset, web-fileset-bundled, archiveorg-file, archiveorg-fileset,
// archiveorg-fileset-bundled: by the common rules.
std::string choose_by_size(const PlatformItem& item, const StrategyOptions& options);

std::vector<std::unique_ptr<Platform>> platforms(const PlatformOptions& options);
// A DOI ("10.…", "doi:10.…", "https://doi.org/10.…") as an address; other text as it is.
std::string address_of(std::string_view text);

}  // namespace quern::fileset
