#include "worker/text_pdf.h"

#include <fmt/format.h>

#include "worker/pdf_file.h"
#include "worker/win_ansi.h"

namespace quern::worker {
namespace {

std::string content_of(const Page& page) {
  // One line above the first: each line moves down before it is shown.
  std::string content = fmt::format("BT/F {} Tf {} TL {} {} Td", kFontSize, kLineHeight,
                                    kPageMargin, kPageHeight - kPageMargin + 2);
  for (const std::string& line : page) content += pdf_string(to_win_ansi(line)) + "'";
  return content + " ET";
}

}  // namespace

std::string text_pdf(const Layout& layout) {
  PdfFile file;
  const int catalog = file.reserve();
  const int tree = file.reserve();
  const int font =
      file.add("<</Type/Font/Subtype/Type1/BaseFont/Courier/Encoding/WinAnsiEncoding>>");
  std::string kids;
  for (const Page& page : layout.pages) {
    const int number = file.reserve();
    const int content = file.add_stream("", content_of(page));
    file.set(number, fmt::format("<</Type/Page/Parent {} 0 R/Contents {} 0 R>>", tree, content));
    kids += fmt::format("{}{} 0 R", kids.empty() ? "" : " ", number);
  }
  file.set(catalog, fmt::format("<</Type/Catalog/Pages {} 0 R>>", tree));
  file.set(tree, fmt::format("<</Type/Pages/Count {}/MediaBox[0 0 {} {}]"
                             "/Resources<</Font<</F {} 0 R>>>>/Kids[{}]>>",
                             layout.pages.size(), kPageWidth, kPageHeight, font, kids));
  return file.finish(catalog);
}

}  // namespace quern::worker
