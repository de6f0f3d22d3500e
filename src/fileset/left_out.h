// LeftOut: files of a dataset that are not part of its manifest, and why. What is missing is said:
// in the message of the answer, and in the notes of the item that keeps the rest.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fileset/platform.h"

namespace quern::fileset {

inline constexpr std::size_t kLeftOutShown = 20;

class LeftOut {
 public:
  void add(const std::string& path, const std::string& why);
  bool empty() const { return files_.empty(); }
  // All files are left out.
  PlatformAnswer refusal(std::string status) const;
  void note(PlatformItem& item) const;
  // The answer with a message, where it has none.
  PlatformAnswer noted(PlatformAnswer answer) const;

 private:
  std::string text() const;
  std::vector<std::string> files_;
};

}  // namespace quern::fileset
