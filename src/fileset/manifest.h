// What a platform says of a dataset: its files, and how it is named. The fields are those of the
// published result records; docs/datasets.md lists them.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace quern::fileset {

// Empty text: unknown.
struct ManifestFile {
  std::string path;
  std::optional<std::int64_t> size;
  std::string md5;  // digests are lower-case hex
  std::string sha1;
  std::string sha256;
  std::string mimetype;
  boost::json::object extra;
  std::string status;
  std::string platform_url;
  std::string terminal_url;
  std::string terminal_dt;  // 14 digits
};
// What is unknown is left out.
boost::json::object to_json(const ManifestFile& file);
// Corrupt where a field is of another type.
Result<ManifestFile> parse_manifest_file(const boost::json::value& value);

struct PlatformItem {
  std::string platform_name;
  std::string platform_domain;
  std::string platform_id;
  std::vector<ManifestFile> manifest;
  std::string archiveorg_item_name;
  boost::json::object archiveorg_item_meta;  // text, or a list of texts
  std::string web_base_url;
  std::string web_bundle_url;

  std::int64_t total_size() const;  // what is unknown counts as nothing
  std::int64_t largest_file() const;
};
boost::json::object to_json(const PlatformItem& item);
Result<PlatformItem> parse_platform_item(const boost::json::value& value);

}  // namespace quern::fileset
