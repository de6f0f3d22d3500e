// PdfFile: the bytes of a PDF, object by object. No dates and no identifiers: the same objects give
// the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern::worker {

class PdfFile {
 public:
  PdfFile();

  // Numbers are given out first where objects refer to one another.
  int reserve();
  void set(int number, std::string_view object);
  int add(std::string_view object);
  // Compressed. `entries` are of its dictionary, without length and filter.
  int add_stream(std::string_view entries, std::string_view bytes);
  void set_stream(int number, std::string_view entries, std::string_view bytes);

  // Once, and last.
  std::string finish(int catalog);

 private:
  std::string bytes_;
  std::vector<std::uint64_t> offsets_;  // of object i + 1
};

// "(a \\(b\\))".
std::string pdf_string(std::string_view bytes);

}  // namespace quern::worker
