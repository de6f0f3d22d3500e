// For tests: a small made-up dataset on each platform, and asking for it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "fileset/catalogue_samples.h"
#include "fileset/platform.h"
#include "fileset/repository_samples.h"
#include "fileset/scripted_outside.h"
#include "net/loop.h"

namespace quern::fileset {

inline Landing landing_of(const std::string& url, std::string html = "",
                          std::string mimetype = "text/html") {
  Landing landing;
  landing.base_url = url;
  landing.terminal_url = url;
  landing.status = 200;
  landing.mimetype = std::move(mimetype);
  landing.html = std::move(html);
  return landing;
}

// What the first platform that matches says; no-platform-match where none does.
inline PlatformAnswer ask_platforms(const Landing& landing, Outside& outside,
                                    const PlatformOptions& options = {}) {
  for (const auto& platform : platforms(options)) {
    if (!platform->match(landing)) continue;
    net::Loop loop;
    return loop.run_until(platform->process(landing, outside));
  }
  PlatformAnswer none;
  none.status = "no-platform-match";
  return none;
}

inline std::string matching(const Landing& landing, const PlatformOptions& options = {}) {
  for (const auto& platform : platforms(options)) {
    if (platform->match(landing)) return std::string(platform->name());
  }
  return "";
}

inline PlatformAnswer ask_sample(const Sample& sample, const PlatformOptions& options = {}) {
  ScriptedOutside outside;
  for (const auto& [url, body] : sample.answers) outside.answer(url, 200, body);
  return ask_platforms(landing_of(sample.url, sample.html, sample.mimetype), outside, options);
}

inline ManifestFile file_of(const PlatformAnswer& answer, std::size_t i) {
  if (i < answer.item.manifest.size()) return answer.item.manifest[i];
  ADD_FAILURE() << "no file " << i << ": " << answer.status << " " << answer.message;
  return {};
}

inline std::vector<Sample> all_samples() {
  return {dataverse_sample(),  figshare_sample(), zenodo_sample(),   invenio_sample(),
          archiveorg_sample(), dryad_sample(),    osf_sample(),      github_sample(),
          ckan_sample(),       dataone_sample(),  datacite_sample(), schemaorg_sample(),
          single_sample()};
}

// The same with one text of an answer replaced by another, which must be there.
inline Sample changed(Sample sample, const std::string& from, const std::string& to) {
  bool found = false;
  const auto change = [&](std::string& text) {
    const std::size_t at = text.find(from);
    if (at == std::string::npos) return;
    text.replace(at, from.size(), to);
    found = true;
  };
  for (auto& [url, body] : sample.answers) change(body);
  change(sample.html);
  EXPECT_TRUE(found) << from;
  return sample;
}

}  // namespace quern::fileset
