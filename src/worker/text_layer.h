// Text that nobody sees over pages of a PDF, so that what a picture shows can be found and copied.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <mupdf/fitz.h>

#include "worker/limits.h"

namespace quern::worker {

// The words of one page, in the order in which they are read.
class TextLayer {
 public:
  // `place` says where the lower left corner of the word is, how large it is, and how it is turned:
  // from a box of one by one to the page.
  void add(std::string_view word, fz_matrix place);
  // What shows them, in the words of PDF.
  std::string content() const;

 private:
  std::string shown_;
};

// By the number of the page, from 0. Linearized; the same input gives the same bytes.
std::optional<Failure> add_text_layers(std::string_view pdf, const std::map<int, TextLayer>& layers,
                                       std::string& layered);

}  // namespace quern::worker
