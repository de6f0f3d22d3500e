// The datasets that the stand-in of the platforms has, each on every platform, and what goes wrong
// with each. Names and numbers are for the platforms that want the one or the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/faulty_files.h"

namespace quern::platform_site {

// What the interface itself does.
enum class ApiFault {
  None,
  TooMany,      // the first request gets 429 and Retry-After
  Unavailable,  // the first request gets 503 and Retry-After
  CutJson,      // half of the answer, with its length
  Gone,         // 410
  Restricted,   // described as not public
  Empty,        // described without files
};

struct DataFile {
  std::string path;
  std::int64_t size = 0;
  std::uint64_t seed = 1;
  std::string mimetype = "application/octet-stream";
  std::string md5;
  std::string sha1;
  std::string sha256;
};

//   plain, single, folders, many (30 files), zero (one of no bytes)
//   api429, api503, cutjson, gone, restricted, empty
//   reset, short, corrupt, wrongrange, etag, signed, drip, errorxml, file429, file503: what happens
//   to the first file of the dataset, where each of the later requests is answered well
struct Dataset {
  std::string name;
  int number = 0;
  ApiFault api = ApiFault::None;
  std::vector<DataFile> files;
  std::vector<support::Fault> faults;  // of the first file
};

std::vector<Dataset> all_datasets();

}  // namespace quern::platform_site
