// TempFolder: a folder under $TMPDIR that goes with the object.
//
// It stays, and its name is printed, where the running test has failed and QUERN_KEEP is set.
#pragma once

#include <filesystem>
#include <string_view>

namespace quern::support {

class TempFolder {
 public:
  TempFolder();
  // Under a folder of the caller's choice.
  explicit TempFolder(const std::filesystem::path& parent);
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  // Whatever becomes of the test: what is being looked at went wrong in a way that only the caller
  // sees.
  void keep_if_asked() { failed_ = true; }

 private:
  std::filesystem::path path_;
  bool failed_ = false;
};

}  // namespace quern::support
