// PartNote: what is known of a part on the disk, in a small file beside it ("PART.json").
//
// A part without a note, or with one that cannot be read, counts for nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "web/fetcher.h"

namespace quern::fileset {

inline constexpr std::size_t kPartNoteBytesMax = 2 * 1024 * 1024;

struct PartNote {
  std::string url;                    // that was asked for
  std::optional<std::int64_t> total;  // bytes of the whole, as the server says
  std::string etag;
  std::string last_modified;
  std::string encoding;     // Content-Encoding, where there is one
  std::int64_t synced = 0;  // so many bytes are on the disk
  bool complete = false;    // and these are all
  int answers = 0;          // that it was put together from
  // Of the first answer that gave bytes.
  std::string terminal_url;
  web::HeaderList headers;
  std::string request_head;
  std::string address;
  std::int64_t began_us = 0;
};
std::string to_text(const PartNote& note);
// Corrupt where it is none.
Result<PartNote> parse_part_note(std::string_view text);

std::filesystem::path note_path(const std::filesystem::path& part);
// Both the part and its note, durably; fine where they are gone.
Result<> remove_part(const std::filesystem::path& part);

}  // namespace quern::fileset
