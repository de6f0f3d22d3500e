// A small tree of files to import, made for a test: a zip in a tar.gz in a zip, texts, a member
// that nobody handles, a text too long for a row.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "support/temp_folder.h"

namespace quern::crash {

class NestedSample {
 public:
  enum class Size { Nested, Small };  // Small: an archive with a text and a file that is unhandled
  explicit NestedSample(Size size = Size::Nested);

  std::string path() const { return (folder_.path() / "leak").string(); }

 private:
  void make_nested();
  void make_small();

  support::TempFolder folder_;
};

// Names of blob files in a folder that its database does not name; a sentence, empty where none.
Result<std::string> orphans_of(const std::filesystem::path& blobs);

}  // namespace quern::crash
