// Files without a name, for what a box reads: in memory where small, on the disk where large.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/descriptor.h"

namespace quern::worker {

Result<io::Descriptor> make_memory_file(std::string_view bytes);
// In that folder; gone with its last descriptor, whoever dies.
Result<io::Descriptor> make_unnamed_file(const std::string& folder);
Result<> write_at(const io::Descriptor& file, std::uint64_t offset, std::string_view bytes);
Result<> set_size(const io::Descriptor& file, std::uint64_t bytes);
// The same file for reading only: what a box gets.
Result<io::Descriptor> reopen_read_only(const io::Descriptor& file);

}  // namespace quern::worker
