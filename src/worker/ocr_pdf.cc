#include "worker/ocr_pdf.h"

#include <fmt/format.h>
#include <mupdf/pdf.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "worker/cpu_alarm.h"
#include "worker/mupdf_call.h"
#include "worker/mupdf_context.h"
#include "worker/ocr_engine.h"
#include "worker/text_layer.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

// Of pages that are drawn by more than a picture.
constexpr float kDpi = 300;
// On the long side: larger pages are read less finely, smaller ones are blown up.
constexpr float kSidePixelsMax = 4'200;
constexpr float kSidePixelsMin = 600;
// Whatever a page says of its size, people's pages are about so long.
constexpr float kPageInches = 11.7F;
constexpr float kDpiMin = 70;
// Pages that are read badly may lie on their side or upside down.
constexpr float kBadConfidence = 50;
constexpr std::size_t kFewWords = 3;
constexpr int kUnknownLetter = 0xFFFD;
// A page with fewer letters than this, most of which is a picture, is a scan.
constexpr int kFewLetters = 100;
constexpr float kMostOfPage = 0.5F;
// Of a line's height: what stands below the line that letters stand on.
constexpr float kBelow = 0.2F;

// What is on a page already.
struct Marks {
  int letters = 0;
  float pictures = 0;  // part of the page, 1 for all of it
  float dpi = 0;       // of the picture that covers most of it; 0 where none does
  std::vector<fz_rect> lines;

  bool wants_ocr() const {
    return letters == 0 || (letters < kFewLetters && pictures >= kMostOfPage);
  }
};

float area_of(fz_rect r) {
  return ::fz_is_empty_rect(r) != 0 ? 0 : (r.x1 - r.x0) * (r.y1 - r.y0);
}

float dpi_of(const fz_stext_block& block) {
  const fz_image& image = *block.u.i.image;
  const float pixels = static_cast<float>(image.w) * static_cast<float>(image.h);
  return 72 * std::sqrt(pixels / std::max(area_of(block.bbox), 1.0F));
}

// Those that somebody can read: fonts may hide what their glyphs stand for.
int letters_in(const fz_stext_line& line) {
  int letters = 0;
  for (const fz_stext_char* c = line.first_char; c != nullptr; c = c->next) {
    letters += c->c > ' ' && c->c != kUnknownLetter ? 1 : 0;
  }
  return letters;
}

Marks marks_in(const fz_stext_page& text, fz_rect bounds) {
  Marks marks;
  const float whole = std::max(area_of(bounds), 1.0F);
  for (const fz_stext_block* block = text.first_block; block != nullptr; block = block->next) {
    if (block->type == FZ_STEXT_BLOCK_IMAGE) {
      const float share = area_of(::fz_intersect_rect(block->bbox, bounds)) / whole;
      marks.pictures += share;
      if (share >= kMostOfPage) marks.dpi = dpi_of(*block);
      continue;
    }
    for (const fz_stext_line* line = block->u.t.first_line; line != nullptr; line = line->next) {
      const int letters = letters_in(*line);
      marks.letters += letters;
      if (letters > 0) marks.lines.push_back(line->bbox);
    }
  }
  return marks;
}

class PageReader {
 public:
  PageReader(fz_page* page, OcrEngine& engine) : page_(page), engine_(engine) {}

  // The layer is empty where the page needs none.
  std::optional<Failure> read(std::optional<TextLayer>& layer) {
    const int code = look();
    if (code != FZ_ERROR_NONE) return mupdf_failure(ctx_, code, "it");
    if (!marks_.wants_ocr()) return std::nullopt;
    Reading best;
    for (const int turn : {0, 180, 90, 270}) {
      Reading reading;
      if (auto failed = read_turned(turn, reading)) return failed;
      if (turn == 0 || reading.page.confidence > best.page.confidence) best = std::move(reading);
      const OcrPage& page = best.page;
      if (page.words.size() < kFewWords || page.confidence >= kBadConfidence) break;
    }
    layer.emplace();
    std::vector<OcrWord>& words = best.page.words;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i + 1 < words.size()) reach(words[i], words[i + 1]);
      add(words[i], best.to_pixels, *layer);
    }
    return std::nullopt;
  }

 private:
  struct Reading {
    OcrPage page;
    fz_matrix to_pixels{};  // from the page as it is seen
  };

  // With the blank behind it, so that nobody has to guess that there is one.
  static void reach(OcrWord& word, const OcrWord& next) {
    if (word.ends_line || next.left <= word.right) return;
    word.text += ' ';
    word.right = next.left;
  }

  int look() {
    fz_stext_page* text = nullptr;
    fz_device* device = nullptr;
    fz_cookie cookie{};
    const CpuAlarm alarm(kPageTextMs, &cookie.abort);
    const int code = mupdf_call(ctx_, [&] {
      fz_stext_options options{};
      options.flags = FZ_STEXT_PRESERVE_IMAGES;
      bounds_ = ::fz_bound_page(ctx_, page_);
      text = ::fz_new_stext_page(ctx_, bounds_);
      device = ::fz_new_stext_device(ctx_, text, &options);
      ::fz_run_page(ctx_, page_, device, fz_identity, &cookie);
      ::fz_close_device(ctx_, device);
      fz_rect unused;
      ::pdf_page_transform(ctx_, ::pdf_page_from_fz_page(ctx_, page_), &unused, &to_page_);
    });
    ::fz_drop_device(ctx_, device);
    if (text != nullptr) marks_ = marks_in(*text, bounds_);
    ::fz_drop_stext_page(ctx_, text);
    return code;
  }

  // As fine as its picture is, within reason.
  float scale() const {
    const float longer = std::max({bounds_.x1 - bounds_.x0, bounds_.y1 - bounds_.y0, 1.0F});
    const float dpi = marks_.dpi > 0 ? marks_.dpi : kDpi;
    return std::clamp(longer * dpi / 72, kSidePixelsMin, kSidePixelsMax) / longer;
  }

  std::optional<Failure> read_turned(int turn, Reading& reading) {
    const float fine = scale();
    reading.to_pixels = ::fz_concat(::fz_scale(fine, fine), ::fz_rotate(static_cast<float>(turn)));
    fz_pixmap* pixmap = nullptr;
    const int code = mupdf_call(ctx_, [&] {
      pixmap = ::fz_new_pixmap_from_page(ctx_, page_, reading.to_pixels, ::fz_device_gray(ctx_), 0);
    });
    if (code != FZ_ERROR_NONE) return mupdf_failure(ctx_, code, "it");
    const auto longer = static_cast<float>(std::max(pixmap->w, pixmap->h));
    const int dpi = static_cast<int>(std::max(longer / kPageInches, kDpiMin));
    reading.page = engine_.read({::fz_pixmap_samples(ctx_, pixmap), pixmap->w, pixmap->h,
                                 static_cast<int>(pixmap->stride), dpi});
    const fz_matrix move =
        ::fz_translate(static_cast<float>(-pixmap->x), static_cast<float>(-pixmap->y));
    reading.to_pixels = ::fz_concat(reading.to_pixels, move);
    ::fz_drop_pixmap(ctx_, pixmap);
    if (!reading.page.was_late) return std::nullopt;
    return Failure{ErrorKind::Timeout,
                   fmt::format("its words are not read after {} s", kOcrPageMs / 1000)};
  }

  void add(const OcrWord& word, fz_matrix to_pixels, TextLayer& layer) const {
    const fz_matrix to_seen = ::fz_invert_matrix(to_pixels);
    const auto left = static_cast<float>(word.left);
    const auto width = static_cast<float>(word.right - word.left);
    const auto height = static_cast<float>(word.bottom - word.top);
    const float base = static_cast<float>(word.bottom) - height * kBelow;
    const fz_point middle = ::fz_transform_point({left + width / 2, base - height / 4}, to_seen);
    const auto covers = [middle](fz_rect line) {
      return ::fz_is_point_inside_rect(middle, line) != 0;
    };
    if (std::any_of(marks_.lines.begin(), marks_.lines.end(), covers)) return;
    const fz_matrix box{width, 0, 0, -height * (1 - kBelow), left, base};
    const fz_matrix seen = ::fz_concat(box, to_seen);
    layer.add(word.text, ::fz_concat(seen, ::fz_invert_matrix(to_page_)));
  }

  fz_context* const ctx_ = mupdf_context();
  fz_page* const page_;
  OcrEngine& engine_;
  fz_matrix to_page_{};
  fz_rect bounds_{};
  Marks marks_;
};

}  // namespace

std::optional<Failure> ocr_pdf(const PdfDocument& document, std::string_view bytes,
                               std::string_view language, OcrResult& result) {
  OcrEngine& engine = OcrEngine::instance();
  if (!engine.use_language(language)) {
    std::fprintf(stderr, "no OCR data for the language '%.*s' is installed: read as English\n",
                 static_cast<int>(std::min<std::size_t>(language.size(), 20)), language.data());
  }
  std::map<int, TextLayer> layers;
  for (int i = 0; i < document.pages(); ++i) {
    std::unique_ptr<PdfPage> page;
    if (document.load(i, page)) continue;  // the Pdf step tells of it
    std::optional<TextLayer> layer;
    if (auto failed = PageReader(page->get(), engine).read(layer)) {
      if (failed->kind != ErrorKind::Corrupt) {
        return Failure{failed->kind, fmt::format("page {}: {}", i + 1, failed->message)};
      }
      continue;
    }
    if (!layer) continue;
    if (static_cast<int>(layers.size()) == kOcrPagesMax) {
      return Failure{ErrorKind::TooMany,
                     fmt::format("more than {} pages are scans: split it", kOcrPagesMax)};
    }
    layers.emplace(i, *std::move(layer));
  }
  result.pages = static_cast<int>(layers.size());
  if (layers.empty()) return std::nullopt;
  return add_text_layers(bytes, layers, result.pdf);
}

}  // namespace quern::worker
