// Unnamed files: bytes on a disk that go with their last descriptor. Nothing of them survives.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "io/descriptor.h"
#include "io/file.h"

namespace quern::io {

// In that folder's file system, for reading and writing.
Result<Descriptor> make_unnamed_file(const Path& folder);
// All of it.
Result<> write_unnamed(const Descriptor& file, std::int64_t offset, std::string_view bytes);
// Fills `into` unless the file ends before.
Result<std::size_t> read_unnamed(const Descriptor& file, std::int64_t offset, std::span<char> into);

}  // namespace quern::io
