// Files that old mails carry in their text: "begin 644 name", lines of letters, "end". Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quern::worker {

struct UuFile {
  std::string name;
  std::string bytes;
};

// The text without them, and they. What only looks like the beginning of one stays text.
struct UuText {
  std::string text;
  std::vector<UuFile> files;
};
UuText split_uuencoded(std::string_view text);

}  // namespace quern::worker
