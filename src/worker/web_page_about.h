// What a web page says about itself in its head: title, author, dates, language.
#pragma once

#include <string>

#include "worker/html_tree.h"

namespace quern::worker {

struct PageAbout {
  std::string title;
  std::string og_title;
  std::string description;
  std::string author;
  std::string published;  // ISO 8601
  std::string modified;
  std::string language;
  std::string site_name;
};

PageAbout about_of(const HtmlTree& tree);

// "en-us" and "en_US" are languages; "" for what is none.
std::string language_tag(std::string_view text);

}  // namespace quern::worker
