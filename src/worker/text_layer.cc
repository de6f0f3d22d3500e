#include "worker/text_layer.h"

#include <fmt/format.h>

#include "worker/qpdf_call.h"
#include "worker/qpdf_headers.h"

namespace quern::worker {
namespace {

constexpr char kFontName[] = "/QuernText";
// Of every letter, in thousandths of its size: they are not seen, so that one is as good as
// another.
constexpr int kLetterUnits = 500;
constexpr char32_t kBeyond = 0x10000;

std::string codes_of(std::string_view word, std::size_t& count) {
  std::string codes;
  const std::string text(word);
  for (const char* at = text.c_str(); *at != '\0';) {
    int letter = 0;
    at += ::fz_chartorune(&letter, at);
    const bool known = letter > 0 && static_cast<char32_t>(letter) < kBeyond;
    codes += fmt::format("{:04X}", known ? letter : 0xFFFD);
    ++count;
  }
  return codes;
}

// Codes are the letters themselves.
std::string to_unicode() {
  std::string map =
      "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n"
      "/CIDSystemInfo<</Registry(Adobe)/Ordering(UCS)/Supplement 0>>def\n"
      "/CMapName/Adobe-Identity-UCS def\n/CMapType 2 def\n"
      "1 begincodespacerange\n<0000><FFFF>\nendcodespacerange\n";
  for (int block = 0; block < 256; block += 64) {
    map += "64 beginbfrange\n";
    for (int i = block; i < block + 64; ++i) {
      map += fmt::format("<{0:02X}00><{0:02X}FF><{0:02X}00>\n", i);
    }
    map += "endbfrange\n";
  }
  return map + "endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n";
}

QPDFObjectHandle make_font(QPDF& qpdf) {
  QPDFObjectHandle font = QPDFObjectHandle::parse(fmt::format(
      "<</Type/Font/Subtype/Type0/BaseFont/QuernText/Encoding/Identity-H/DescendantFonts[<<"
      "/Type/Font/Subtype/CIDFontType2/BaseFont/QuernText/DW {}/CIDToGIDMap/Identity"
      "/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/FontDescriptor<<"
      "/Type/FontDescriptor/FontName/QuernText/Flags 5/FontBBox[0 0 500 1000]/Ascent 1000"
      "/Descent 0/CapHeight 1000/ItalicAngle 0/StemV 80>>>>]>>",
      kLetterUnits));
  font.replaceKey("/ToUnicode", QPDFObjectHandle::newStream(&qpdf, to_unicode()));
  return qpdf.makeIndirectObject(font);
}

// The page's own copy: what pages share must not change for the others.
void add_font(QPDFPageObjectHelper& page, const QPDFObjectHandle& font) {
  QPDFObjectHandle resources = page.getAttribute("/Resources", true);
  if (!resources.isDictionary()) resources = QPDFObjectHandle::newDictionary();
  resources = resources.shallowCopy();
  QPDFObjectHandle fonts = resources.getKey("/Font");
  fonts = fonts.isDictionary() ? fonts.shallowCopy() : QPDFObjectHandle::newDictionary();
  fonts.replaceKey(kFontName, font);
  resources.replaceKey("/Font", fonts);
  page.getObjectHandle().replaceKey("/Resources", resources);
}

}  // namespace

void TextLayer::add(std::string_view word, fz_matrix place) {
  std::size_t count = 0;
  const std::string codes = codes_of(word, count);
  if (count == 0) return;
  const float across = 1000.0F / (kLetterUnits * static_cast<float>(count));
  const fz_matrix m = ::fz_pre_scale(place, across, 1);
  fmt::format_to(std::back_inserter(shown_), "{:.4f} {:.4f} {:.4f} {:.4f} {:.2f} {:.2f} Tm<{}>Tj\n",
                 m.a, m.b, m.c, m.d, m.e, m.f, codes);
}

std::string TextLayer::content() const {
  return fmt::format("q BT {} 1 Tf 3 Tr\n{}ET Q\n", kFontName, shown_);
}

std::optional<Failure> add_text_layers(std::string_view pdf, const std::map<int, TextLayer>& layers,
                                       std::string& layered) {
  return qpdf_call([&] {
    QPDF qpdf;
    qpdf_read(qpdf, pdf);
    QPDFPageDocumentHelper helper(qpdf);
    std::vector<QPDFPageObjectHelper> pages = helper.getAllPages();
    const QPDFObjectHandle font = make_font(qpdf);
    for (const auto& [number, layer] : layers) {
      QPDFPageObjectHelper& page = pages.at(static_cast<std::size_t>(number));
      add_font(page, font);
      // Whatever the page leaves behind must not move the words.
      page.addPageContents(QPDFObjectHandle::newStream(&qpdf, "q\n"), true);
      page.addPageContents(QPDFObjectHandle::newStream(&qpdf, "\nQ\n" + layer.content()), false);
    }
    layered = qpdf_written(qpdf, QpdfOrder::Linear);
  });
}

}  // namespace quern::worker
