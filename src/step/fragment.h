// Fragments: what the parts of a worker's answer are called and what stands in them. Pure.
//
// The names and forms are those of docs/worker-protocol.md. Whatever a worker sends is bounded by
// the caller before it comes here, and can be any bytes: texts come out as valid UTF-8 without NUL,
// which no store can hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/error_kind.h"
#include "tree/page_ends.h"

namespace quern::step {

inline constexpr std::size_t kChildJsonBytesMax = 1024 * 1024;  // of N.json
inline constexpr std::size_t kNoticeBytesMax = 64 * 1024;       // of error, failure, N.error: cut
inline constexpr std::size_t kNoteBytesMax = 4 * 1024;          // of note: cut
inline constexpr std::size_t kTypesJsonBytesMax = 1024 * 1024;  // of types
inline constexpr std::size_t kFilenameBytesMax = 16 * 1024;     // cut on a character
inline constexpr std::size_t kLanguageBytesMax = 64;
inline constexpr std::size_t kTypesFilesMax = 1024;
inline constexpr std::size_t kLinksBytesMax = 4 * 1024 * 1024;  // of links
inline constexpr std::size_t kHeadingsMax = 200;
inline constexpr std::size_t kHeadingBytesMax = 300;

enum class FragmentKind {
  ChildJson,     // N.json
  ChildBlob,     // N.blob
  InheritBlob,   // inherit-blob: counts as N = 0
  ChildText,     // N.txt
  ThumbnailPng,  // N-thumbnail.png
  ThumbnailJpg,  // N-thumbnail.jpg
  ChildError,    // N.error: this member failed
  Progress,
  Heartbeat,
  Done,
  Error,
  Failure,
  Cost,
  Note,
  Types,
  Links,  // of a web page
  Unknown,
};

struct Fragment {
  FragmentKind kind = FragmentKind::Unknown;
  std::int32_t index = 0;  // N, for those of a child

  friend bool operator==(const Fragment&, const Fragment&) = default;
};

// Full matches only; N has 1 to 8 digits.
Fragment parse_fragment(std::string_view name);
// "17.blob"; "unknown" for Unknown.
std::string to_string(const Fragment& fragment);
// Whether it belongs to a child: those up to ChildError.
constexpr bool is_of_child(FragmentKind kind) {
  return kind <= FragmentKind::ChildError;
}

// What N.json says of a child.
struct ChildHead {
  std::string filename;
  std::string content_type;  // as given
  std::string language;
  std::string metadata;  // a JSON object as text
  bool want_ocr = false;
  bool want_split = false;
  tree::PageEnds page_ends;  // `pageEnds`, which may be missing: bytes of the text of each page

  // Of a web page; both may be missing.
  std::optional<std::int64_t> main_bytes;  // `mainBytes`: how much of the text is the page's own
  std::string headings;                    // `headings`: a JSON list of texts

  friend bool operator==(const ChildHead&, const ChildHead&) = default;
};
// All six are needed, with their types; page ends that are none and further keys are ignored, of
// two equal ones the last counts. Bytes that are no UTF-8 and halves of surrogate pairs become
// U+FFFD first. Invalid says which field is wrong: the text behind "step error: ".
Result<ChildHead> parse_child(std::string_view json);

// 0 to 1, whatever numbers come; nullopt where it is none of the known forms.
std::optional<double> parse_progress(std::string_view json);

// What N.error and failure say. Never fails: what is no such JSON is the message itself, of kind
// Internal.
struct Failure {
  model::ErrorKind kind = model::ErrorKind::Internal;
  std::string message;
  bool again = false;  // the attempt is counted, and the file lent again

  friend bool operator==(const Failure&, const Failure&) = default;
};
Failure parse_failure(std::string_view json);
// The message of an error or a note: valid text without controls, at most so many bytes.
std::string parse_message(std::string_view bytes, std::size_t bytes_max);

struct Cost {
  std::int64_t wall_ms = 0;
  std::int64_t cpu_ms = 0;
  std::int64_t peak_kib = 0;

  friend bool operator==(const Cost&, const Cost&) = default;
};
// Absent numbers are 0, absurd ones are clamped; nullopt where it is no JSON object.
std::optional<Cost> parse_cost(std::string_view json);

// What Detect says.
struct DetectedFile {
  std::int64_t file = 0;
  std::string type;  // as model::canonical_type
};
struct UndetectedFile {
  std::int64_t file = 0;
  Failure failure;
};
struct DetectedTypes {
  std::vector<DetectedFile> types;
  std::vector<UndetectedFile> failed;
  std::optional<Cost> cost;
};
Result<DetectedTypes> parse_types(std::string_view json);

// What `links` says: the same JSON, mended. Invalid where it is no object with a list `links`.
Result<std::string> parse_links(std::string_view json);

}  // namespace quern::step
