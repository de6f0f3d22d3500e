// What bytes are: their digests, and their type by how they begin. The type comes from a small
// table of marks, since the library that knows more is linked by the boxed worker only.
//
// Pure but for the functions that read a file: those block.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fileset/keeping.h"

namespace quern::fileset {

inline constexpr std::size_t kSniffBytes = 64 * 1024;  // of the beginning

// "text/csv" is nobody's mark: text is text/plain, and what is nothing known is
// application/octet-stream; no bytes are application/x-empty.
std::string mimetype_of(std::string_view beginning);

FileMeta file_meta_of(std::string_view bytes);
Result<FileMeta> meta_of_file(const std::filesystem::path& file);
Result<std::string> mimetype_of_file(const std::filesystem::path& file);

// Whether bytes look as if nothing made them smaller: compressed, encrypted or noise.
bool is_dense(std::string_view sample);

// The bytes behind a gzip coding that an archive left on: they begin like gzip, and the capture's
// index does not call them application/gzip. Nothing where that is not so; Invalid where the coding
// is broken, TooLarge beyond the limit.
Result<std::optional<std::string>> undo_gzip(std::string_view bytes, std::string_view cdx_mimetype,
                                             std::int64_t bytes_max);
// The same of a file: only what is behind it is told.
Result<std::optional<FileMeta>> gunzipped_meta(const std::filesystem::path& file,
                                               std::string_view cdx_mimetype,
                                               std::int64_t bytes_max);

}  // namespace quern::fileset
