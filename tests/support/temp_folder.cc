#include "support/temp_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <string>

#include "base/check.h"

namespace quern::support {
namespace fs = std::filesystem;

TempFolder::TempFolder() : TempFolder(fs::temp_directory_path()) {}

TempFolder::TempFolder(const fs::path& parent) {
  std::string name = (parent / "quern-XXXXXX").native();
  CHECK(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TempFolder::~TempFolder() {
  const bool failed = failed_ || ::testing::Test::HasFailure();
  if (failed && ::getenv("QUERN_KEEP") != nullptr) {
    std::fprintf(stderr, "kept %s\n", path_.c_str());
    return;
  }
  std::error_code ignored;  // a folder left in $TMPDIR is no reason to fail a test
  fs::remove_all(path_, ignored);
}

}  // namespace quern::support
