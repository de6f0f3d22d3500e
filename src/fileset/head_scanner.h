// HeadScanner: the tags of a page's head, one after the other. Pure, total: whatever the bytes are,
// each call moves on or ends.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::fileset {

struct HeadTag {
  std::string name;  // lower case
  bool end = false;  // "</…>"
  // Names in lower case, values without character references.
  std::vector<std::pair<std::string, std::string>> attributes;

  // The first of that name; empty where there is none.
  std::string_view find(std::string_view attribute) const;
};

class HeadScanner {
 public:
  explicit HeadScanner(std::string_view html) : left_(html) {}

  // False at the end of the head: by its tag, by one that belongs into a body, by text.
  bool next(HeadTag& tag);

 private:
  bool skip_to_tag();
  void skip_text_of(std::string_view element);
  void read_attributes(HeadTag& tag);
  std::string read_value();

  std::string_view left_;
};

// "a &amp; b" without its references: those of numbers, and the names that are common.
std::string without_references(std::string_view text);

}  // namespace quern::fileset
