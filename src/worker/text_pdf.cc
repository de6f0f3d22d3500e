#include "worker/text_pdf.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "worker/embedded_font.h"
#include "worker/pdf_file.h"
#include "worker/shaping.h"
#include "worker/win_ansi.h"

namespace quern::worker {
namespace {

constexpr double points(int units) {
  return units * double{kFontSize} / kUnits;
}

constexpr int kFirstBaseline = kPageHeight - kPageMargin - kLineHeight + 2;

class TextPdf {
 public:
  std::string make(const Layout& layout, std::string_view drawing) {
    const int catalog = file_.reserve();
    const int tree = file_.reserve();
    const int courier =
        file_.add("<</Type/Font/Subtype/Type1/BaseFont/Courier/Encoding/WinAnsiEncoding>>");
    std::string kids;
    for (const Page& page : layout.pages) {
      const int number = file_.reserve();
      const bool first = &page == &layout.pages.front();
      const std::string under(first ? drawing : std::string_view());
      const int content = file_.add_stream("", under + content_of(page));
      file_.set(number, fmt::format("<</Type/Page/Parent {} 0 R/Contents {} 0 R>>", tree, content));
      kids += fmt::format("{}{} 0 R", kids.empty() ? "" : " ", number);
    }
    file_.set(catalog, fmt::format("<</Type/Catalog/Pages {} 0 R>>", tree));
    file_.set(tree, fmt::format("<</Type/Pages/Count {}/MediaBox[0 0 {} {}]"
                                "/Resources<</Font<</F {} 0 R{}>>>>/Kids[{}]>>",
                                layout.pages.size(), kPageWidth, kPageHeight, courier,
                                write_fonts(), kids));
    return file_.finish(catalog);
  }

 private:
  struct Used {
    std::string name;
    std::unique_ptr<EmbeddedFont> embedded;
  };

  std::string content_of(const Page& page) {
    return std::all_of(page.begin(), page.end(), is_plain) ? plain_content(page)
                                                           : shaped_content(page);
  }

  // Each line moves down before it is shown.
  static std::string plain_content(const Page& page) {
    std::string content = fmt::format("BT/F {} Tf {} TL {} {} Td", kFontSize, kLineHeight,
                                      kPageMargin, kFirstBaseline + kLineHeight);
    for (const std::string& line : page) content += pdf_string(to_win_ansi(line)) + "'";
    return content + " ET";
  }

  std::string shaped_content(const Page& page) {
    std::string content = "BT\n";
    int y = kFirstBaseline;
    for (const std::string& line : page) {
      const ShapedLine shaped = shape_line(line);
      const int free = std::max(kColumns * kColumnUnits - shaped.width, 0);
      const double left = kPageMargin + (shaped.right_to_left ? points(free) : 0);
      for (const GlyphRun& run : shaped.runs) show(content, run, left, y);
      y -= kLineHeight;
    }
    return content + "ET";
  }

  void show(std::string& content, const GlyphRun& run, double left, int y) {
    const double x = left + points(run.x);
    if (run.font == nullptr) {
      fmt::format_to(std::back_inserter(content), "/F {} Tf 1 0 0 1 {:.2f} {} Tm{}Tj\n", kFontSize,
                     x, y, pdf_string(run.plain));
      return;
    }
    Used& used = use(*run.font);
    const double scale = run.width > 0 ? double(run.taken()) / run.width : 1;
    fmt::format_to(std::back_inserter(content), "/{} {} Tf\n", used.name, kFontSize);
    std::size_t begin = 0;
    while (begin < run.glyphs.size()) {
      const std::size_t end = end_of_row(run, begin);
      const Glyph& first = run.glyphs[begin];
      fmt::format_to(std::back_inserter(content), "{:.4f} 0 0 1 {:.2f} {:.2f} Tm<", scale,
                     x + points(first.x) * scale, y + points(first.y));
      for (; begin < end; ++begin) {
        const Glyph& glyph = run.glyphs[begin];
        used.embedded->use(glyph.id, glyph.letters);
        fmt::format_to(std::back_inserter(content), "{:04X}", glyph.id);
      }
      content += ">Tj\n";
    }
  }

  // Glyphs that stand where the widths of those before them put them.
  static std::size_t end_of_row(const GlyphRun& run, std::size_t begin) {
    std::size_t end = begin + 1;
    for (; end < run.glyphs.size(); ++end) {
      const Glyph& before = run.glyphs[end - 1];
      const Glyph& glyph = run.glyphs[end];
      if (glyph.y != before.y) break;
      if (glyph.x != before.x + run.font->advance_of(before.id)) break;
    }
    return end;
  }

  Used& use(const Font& font) {
    for (std::size_t i = 0; i < fonts_.size(); ++i) {
      if (fonts_[i].first == &font) return fonts_[i].second;
    }
    Used used{fmt::format("F{}", fonts_.size()), std::make_unique<EmbeddedFont>(font)};
    fonts_.emplace_back(&font, std::move(used));
    return fonts_.back().second;
  }

  std::string write_fonts() {
    std::string entries;
    for (const auto& [font, used] : fonts_) {
      entries += fmt::format("/{} {} 0 R", used.name, used.embedded->write(file_));
    }
    return entries;
  }

  PdfFile file_;
  std::vector<std::pair<const Font*, Used>> fonts_;  // in the order of their use
};

}  // namespace

std::string text_pdf(const Layout& layout, std::string_view drawing) {
  return TextPdf().make(layout, drawing);
}

}  // namespace quern::worker
