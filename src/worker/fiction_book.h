// What a FictionBook says of itself before its first page: who wrote it, what it is about.
#pragma once

#include <string>
#include <string_view>

namespace quern::worker {

// Bytes at its beginning in which that stands.
inline constexpr std::size_t kAboutBookBytes = 256 * 1024;

struct AboutBook {
  std::string author;
  std::string annotation;  // a line for each paragraph
};

AboutBook about_fiction_book(std::string_view bytes);

}  // namespace quern::worker
