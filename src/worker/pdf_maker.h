// For tests: PDFs with pages of our own making, good and bad.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "worker/pdf_file.h"

namespace quern::worker {

struct MadePdf {
  std::vector<std::string> contents;  // a page each, in the words of PDF
  std::string info;                   // entries of the information dictionary
  std::string resources;              // more entries of the pages' resources
  std::string media_box = "0 0 595 842";
  std::int64_t count = -1;  // of pages, as it says; -1: the truth
};

inline std::string make_pdf(const MadePdf& made) {
  PdfFile file;
  const int catalog = file.reserve();
  const int tree = file.reserve();
  const int font =
      file.add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>");
  std::string kids;
  for (const std::string& content : made.contents) {
    const int stream = file.add_stream("", content);
    const int page =
        file.add(fmt::format("<</Type/Page/Parent {} 0 R/MediaBox[{}]/Contents {} 0 R"
                             "/Resources<</Font<</F {} 0 R>>{}>>>>",
                             tree, made.media_box, stream, font, made.resources));
    kids += fmt::format("{} 0 R ", page);
  }
  const auto count = made.count < 0 ? static_cast<std::int64_t>(made.contents.size()) : made.count;
  file.set(tree, fmt::format("<</Type/Pages/Count {}/Kids[{}]>>", count, kids));
  file.set(catalog, fmt::format("<</Type/Catalog/Pages {} 0 R>>", tree));
  if (made.info.empty()) return file.finish(catalog);
  const int info = file.add("<<" + made.info + ">>");
  std::string bytes = file.finish(catalog);
  bytes.insert(bytes.rfind("/Root"), fmt::format("/Info {} 0 R", info));
  return bytes;
}

// One line of text, in points from the lower left corner.
inline std::string line_at(double x, double y, const std::string& text) {
  return fmt::format("BT/F 12 Tf {} {} Td({})Tj ET\n", x, y, text);
}

}  // namespace quern::worker
