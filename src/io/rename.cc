#include "io/rename.h"

#include <fcntl.h>

#include "io/calls.h"

namespace quern::io {
namespace {

// "a" lies in ".".
Path folder_of(const Path& path) {
  return path.has_parent_path() ? path.parent_path() : Path(".");
}

}  // namespace

Result<> rename_durably(const Path& from, const Path& to) {
  TRY_ASSIGN(const bool is_there, path_exists(to));
  if (is_there) return Error{Errc::Conflict, to.native() + " is there already"};
  TRY(calls::rename({AT_FDCWD, from.native(), from.native()},
                    {AT_FDCWD, to.native(), to.native()}));
  TRY(sync_folder(folder_of(to)));
  if (folder_of(from) != folder_of(to)) TRY(sync_folder(folder_of(from)));
  return {};
}

}  // namespace quern::io
