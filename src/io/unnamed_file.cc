#include "io/unnamed_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "io/calls.h"
#include "io/system_error.h"

namespace quern::io {
namespace {

constexpr char kWhat[] = "a file without a name";

}  // namespace

Result<Descriptor> make_unnamed_file(const Path& folder) {
  auto file = calls::open({AT_FDCWD, folder.string(), folder.string()}, O_TMPFILE | O_RDWR, 0600);
  if (file.ok() || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  // A file system without O_TMPFILE.
  std::string name = (folder / (std::string(kTempPrefix) + "XXXXXX")).string();
  Descriptor named(::mkostemp(name.data(), O_CLOEXEC));
  if (!named.is_open()) return system_error(errno, "open " + name);
  ::unlink(name.c_str());
  return named;
}

Result<> write_unnamed(const Descriptor& file, std::int64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    TRY_ASSIGN(const std::size_t n, calls::write(file.get(), bytes, offset, kWhat));
    bytes.remove_prefix(n);
    offset += static_cast<std::int64_t>(n);
  }
  return {};
}

Result<std::size_t> read_unnamed(const Descriptor& file, std::int64_t offset,
                                 std::span<char> into) {
  std::size_t filled = 0;
  while (filled < into.size()) {
    TRY_ASSIGN(const std::size_t n, calls::read(file.get(), into.subspan(filled),
                                                offset + static_cast<std::int64_t>(filled), kWhat));
    if (n == 0) break;
    filled += n;
  }
  return filled;
}

}  // namespace quern::io
