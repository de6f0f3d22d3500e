// CDX: rows of an index of captures, as lines of a file and as answers of the CDX API of the
// Wayback Machine, and which row is the best. Pure.
//
// An answer's first row names its fields. With a token the API gives eleven; without, seven: those
// rows do not say in which WARC file a capture lies.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fileset/blocklist.h"

namespace quern::fileset {

inline constexpr std::size_t kCdxRowsMax = 1000;

struct CdxRow {
  std::string surt;
  std::string datetime;  // 14 digits
  std::string url;
  std::string mimetype;
  std::optional<int> status;  // none: "-"
  std::string sha1b32;
  std::string sha1hex;
  std::int64_t warc_csize = 0;
  std::int64_t warc_offset = 0;
  std::string warc_path;

  bool is_revisit() const { return mimetype == "warc/revisit"; }
  // Whether a range of that file can be asked for.
  bool in_warc() const { return warc_path.find('/') != std::string::npos; }
  bool is_content() const { return status && (*status == 200 || *status == 226); }
  bool is_redirect() const { return status && *status >= 300 && *status < 400; }
};
// With warc_* only where in_warc().
boost::json::object to_json(const CdxRow& row);

// 40 hex digits of 32 characters in base 32; nothing where they are no SHA-1.
std::optional<std::string> sha1_of_base32(std::string_view base32);
// A line of a CDX file with eleven fields; nothing where it is a comment, incomplete or not of the
// web.
std::optional<CdxRow> parse_cdx_line(std::string_view line);
// Rows that are no capture are left out. Corrupt where it is no such answer. Strict: eleven fields.
Result<std::vector<CdxRow>> parse_cdx_answer(std::string_view json, Compat compat);

struct CdxWish {
  std::string url;
  std::string mimetype;  // empty: any
  std::string closest;   // 14 digits; empty: any
};
// nullptr where there is none.
const CdxRow* best_row(const std::vector<CdxRow>& rows, const CdxWish& wish);
// Whether both name the same page: scheme, "www." and a last "/" do not count.
bool same_page(std::string_view a, std::string_view b);

}  // namespace quern::fileset
