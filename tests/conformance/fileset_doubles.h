// A world outside that answers from a script, for tests of datasets: captures, items, a platform.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fileset/file_meta.h"
#include "fileset/item_upload.h"
#include "fileset/platform.h"

namespace quern::fileset {

inline constexpr char kPageUrl[] = "https://data.test/set/1";

// Captures by address; files are kept as they come, where nobody says otherwise.
class ScriptedWeb : public WebArchive {
 public:
  std::map<std::string, Resource> pages;
  std::map<std::string, Kept> found;  // files that are captured already
  std::map<std::string, Kept> kept;   // what keeping a file says instead
  bool bytes = true;
  std::vector<std::string> asked_pages;
  std::vector<std::string> asked_files;

  net::Task<Resource> find_page(const std::string& url, bool) override {
    asked_pages.push_back(url);
    const auto known = pages.find(url);
    if (known != pages.end()) co_return known->second;
    Resource none;
    none.status = "no-capture";
    none.capture.terminal_url = url;
    co_return none;
  }
  net::Task<std::optional<Kept>> find_file(const ManifestFile& file) override {
    const auto known = found.find(file.platform_url);
    if (known == found.end()) co_return std::nullopt;
    co_return known->second;
  }
  bool wants_bytes() const override { return bytes; }
  net::Task<Kept> keep_file(const ManifestFile& file, const Downloaded* downloaded,
                            const std::filesystem::path&) override {
    asked_files.push_back(file.platform_url);
    const auto known = kept.find(file.platform_url);
    if (known != kept.end()) co_return known->second;
    Kept good;
    good.status = "success";
    good.capture.terminal_url = file.platform_url;
    good.capture.terminal_dt = "20260101000000";
    good.capture.status_code = 200;
    good.capture.cdx = {{"url", file.platform_url}, {"datetime", "20260101000000"}};
    if (downloaded != nullptr) {
      good.capture.meta = {downloaded->size, downloaded->md5, downloaded->sha1, downloaded->sha256,
                           "text/plain"};
    }
    co_return good;
  }
};

// Items of archive.org: what was uploaded is there.
class ScriptedItems : public ItemArchive {
 public:
  std::map<std::string, std::vector<ManifestFile>> items;
  std::vector<std::string> uploads;
  bool refuses = false;
  Compat compat = Compat::Default;

  net::Task<Existing> check_existing(const PlatformItem& item) override {
    Existing existing;
    existing.status = "success";
    existing.files = items[item.archiveorg_item_name];
    const std::vector<bool> there = files_there(item.manifest, existing.files, compat);
    existing.complete = std::all_of(there.begin(), there.end(), [](bool one) { return one; });
    co_return existing;
  }
  net::Task<Kept> upload(const PlatformItem& item, const ManifestFile& file,
                         const std::filesystem::path&, std::int64_t) override {
    Kept kept;
    kept.status = refuses ? "error-archiveorg-upload" : "success";
    kept.message = refuses ? "403" : "";
    if (!refuses) {
      items[item.archiveorg_item_name].push_back(file);
      uploads.push_back(file.path);
    }
    co_return kept;
  }
  net::Task<Kept> verify(const PlatformItem&) override {
    Kept kept;
    kept.status = "success";
    co_return kept;
  }
};

class ScriptedPlatform : public Platform {
 public:
  explicit ScriptedPlatform(std::shared_ptr<PlatformAnswer> answer) : answer_(std::move(answer)) {}
  std::string_view name() const override { return "scripted"; }
  bool match(const Landing& landing) const override {
    return landing.terminal_url.starts_with("https://data.test/set/");
  }
  net::Task<PlatformAnswer> process(const Landing&, Outside&) const override { co_return *answer_; }
  std::string choose_strategy(const PlatformItem& item,
                              const StrategyOptions& options) const override {
    if (!options.forced.empty()) return options.forced;
    return item.manifest.size() == 1 ? "web-file" : "web-fileset";
  }

 private:
  std::shared_ptr<PlatformAnswer> answer_;
};

inline Resource page_of(const std::string& url, const std::string& body) {
  Resource page;
  page.status = "success";
  page.capture.terminal_url = url;
  page.capture.terminal_dt = "20260101000000";
  page.capture.status_code = 200;
  page.capture.meta = file_meta_of(body);
  page.capture.cdx = {{"surt", "test,data)/"},
                      {"datetime", "20260101000000"},
                      {"url", url},
                      {"mimetype", "text/html"},
                      {"status_code", 200},
                      {"sha1b32", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
                      {"sha1hex", std::string(40, '0')},
                      {"warc_csize", 1},
                      {"warc_offset", 2},
                      {"warc_path", "it/a.warc.gz"}};
  page.body = body;
  return page;
}

}  // namespace quern::fileset
