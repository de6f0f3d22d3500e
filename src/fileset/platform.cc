#include "fileset/platform.h"

#include <algorithm>

#include "fileset/platform_api.h"
#include "fileset/platform_archiveorg.h"
#include "fileset/platform_ckan.h"
#include "fileset/platform_datacite.h"
#include "fileset/platform_dataone.h"
#include "fileset/platform_dataverse.h"
#include "fileset/platform_dryad.h"
#include "fileset/platform_figshare.h"
#include "fileset/platform_github.h"
#include "fileset/platform_original.h"
#include "fileset/platform_osf.h"
#include "fileset/platform_schemaorg.h"
#include "fileset/platform_single.h"
#include "fileset/platform_zenodo.h"
#include "web/url_escape.h"

namespace quern::fileset {
namespace {

constexpr std::int64_t kOriginalFileBytes = 64LL << 20;
constexpr std::int64_t kOriginalTotalBytes = 128LL << 30;

// Not a bundle: what is one of the files, and what only repeats them although nobody wants that.
bool is_bundled(const PlatformItem& item, const StrategyOptions& options) {
  if (item.web_bundle_url.empty() || options.strict) return false;
  const auto& files = item.manifest;
  const bool is_file = std::ranges::any_of(
      files, [&](const ManifestFile& file) { return file.platform_url == item.web_bundle_url; });
  if (is_file) return false;
  const bool has_files = std::ranges::any_of(
      files, [](const ManifestFile& file) { return !file.platform_url.empty(); });
  return !has_files || (options.bundle && files.size() > 1);
}

bool is_large(const PlatformItem& item, const StrategyOptions& options) {
  if (options.strict) {
    if (item.manifest.size() == 1) return item.total_size() >= kOriginalFileBytes;
    return item.largest_file() >= kOriginalFileBytes || item.total_size() >= kOriginalTotalBytes;
  }
  const StrategyLimits& limits = options.limits;
  return static_cast<std::int64_t>(item.manifest.size()) > limits.files ||
         item.total_size() > limits.total_bytes || item.largest_file() > limits.file_bytes;
}

}  // namespace

web::HeaderList Platform::download_headers(const std::string&) const {
  return {};
}

std::string Platform::choose_strategy(const PlatformItem& item,
                                      const StrategyOptions& options) const {
  return choose_by_size(item, options);
}

std::string choose_by_size(const PlatformItem& item, const StrategyOptions& options) {
  if (!options.forced.empty()) return options.forced;
  const bool archiveorg = options.archiveorg && is_large(item, options);
  const std::string keeper = archiveorg ? "archiveorg-" : "web-";
  if (is_bundled(item, options)) return keeper + "fileset-bundled";
  return keeper + (item.manifest.size() == 1 ? "file" : "fileset");
}

std::vector<std::unique_ptr<Platform>> platforms(const PlatformOptions& options) {
  if (options.strict) return original_platforms(options);
  std::vector<std::unique_ptr<Platform>> all;
  all.push_back(make_dataverse(options));
  all.push_back(make_figshare(options));
  all.push_back(make_zenodo(options));
  all.push_back(make_archiveorg(options));
  all.push_back(make_dryad(options));
  all.push_back(make_osf(options));
  all.push_back(make_github(options));
  all.push_back(make_dataone(options));
  all.push_back(make_ckan(options));
  all.push_back(make_single(options));
  all.push_back(make_schemaorg(options));
  all.push_back(make_datacite(options));
  return all;
}

std::string address_of(std::string_view text) {
  const std::string trimmed = trim(text);
  const std::string doi = doi_in(trimmed);
  if (doi.empty() || web::to_lower(trimmed).starts_with("http")) return trimmed;
  std::string address = "https://doi.org/";
  for (const char c : doi) {
    constexpr std::string_view kPlain = "-._~:/()@!$&'*+,;=[]";
    const bool plain =
        web::is_alpha(c) || web::is_digit(c) || kPlain.find(c) != std::string_view::npos;
    plain ? address.push_back(c) : web::append_escaped(address, static_cast<unsigned char>(c));
  }
  return address;
}

}  // namespace quern::fileset
