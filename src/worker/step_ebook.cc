// Ebook: books (EPUB, FictionBook, Mobipocket), XPS and comics become a PDF, their text and a
// thumbnail. Styles of books do not count: whoever reads them wants the words.
#include <fmt/format.h>
#include <mupdf/fitz/version.h>

#include <algorithm>
#include <cstdio>

#include "worker/fiction_book.h"
#include "worker/input_bytes.h"
#include "worker/laid_out_pdf.h"
#include "worker/metadata.h"
#include "worker/mupdf_context.h"
#include "worker/steps.h"
#include "worker/thumbnail.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

// So wide that paragraphs are not broken into lines: their text reads as it was written.
constexpr float kWidePoints = 200'000;
constexpr std::string_view kFictionBook = ".fb2";

std::string version() {
  return "1 mupdf " FZ_VERSION;
}

// What MuPDF calls it.
std::string_view kind_of(std::string_view bytes, std::string_view type) {
  if (type.find("fictionbook") != std::string_view::npos) return kFictionBook;
  if (type.find("mobi") != std::string_view::npos) return ".mobi";
  if (type.find("xps") != std::string_view::npos) return ".xps";
  if (type.find("comicbook") != std::string_view::npos) return ".cbz";
  const std::string_view head = bytes.substr(0, 4096);
  if (head.find("<FictionBook") != std::string_view::npos) return kFictionBook;
  if (head.find("BOOKMOBI") != std::string_view::npos) return ".mobi";
  if (bytes.find(".fdseq") != std::string_view::npos) return ".xps";
  return ".epub";
}

std::optional<Failure> open_book(std::string_view bytes, const char* kind,
                                 std::unique_ptr<PdfDocument>& book) {
  auto failed = PdfDocument::open(bytes, kind, book);
  if (failed && failed->message.find("DRM") != std::string::npos) {
    return Failure{ErrorKind::Encrypted, "the book is locked: it opens in its shop's reader only"};
  }
  if (!failed && book->pages() == 0) return Failure{ErrorKind::Corrupt, "the book has no pages"};
  return failed;
}

class BookText {
 public:
  explicit BookText(const Limits& limits) : left_(limits.text_characters) {}

  std::optional<Failure> read(const PdfDocument& book, int pages_max) {
    const int pages = std::min(book.pages(), pages_max);
    for (int i = 0; i < pages && left_ > 0; ++i) {
      std::unique_ptr<PdfPage> page;
      if (auto failed = book.load(i, page)) return failed;
      PageText found;
      if (auto failed = page->read(left_, found)) return failed;
      text += found.text;
      left_ -= std::min(left_, found.characters);
    }
    if (left_ == 0) std::fprintf(stderr, "the text is cut\n");
    return std::nullopt;
  }

  std::string text;

 private:
  std::uint64_t left_;
};

void write(StepContext& context, const Metadata& metadata, const std::string& pdf,
           const std::string& text) {
  StepTask task = context.task;
  task.metadata = metadata.json();
  context.out.part("0.json", child_json(task, {task.filename, "application/pdf", false}));
  context.out.part("0.blob", pdf);
  context.out.part("0.txt", text);
  if (const auto thumbnail = thumbnail_of(pdf, kPageThumbnailPixels)) {
    context.out.part("0-thumbnail.jpg", *thumbnail);
  }
}

StepEnd run(StepContext& context) {
  const InputBytes input(context.inputs.at(0));
  const StepTask& task = context.task;
  const std::string& type = task.detected_type.empty() ? task.content_type : task.detected_type;
  ::fz_set_use_document_css(mupdf_context(), 0);
  std::unique_ptr<PdfDocument> book;
  const std::string_view kind = kind_of(input.view(), type);
  if (auto failed = open_book(input.view(), kind.data(), book)) return failed;
  LaidOut laid_out;
  const int pages_max = static_cast<int>(context.limits.text_pages);
  if (auto failed = laid_out_pdf(*book, pages_max, laid_out)) return failed;
  if (laid_out.was_cut) std::fprintf(stderr, "the PDF is cut after %d pages\n", laid_out.pages);
  AboutBook about;
  if (kind == kFictionBook) about = about_fiction_book(input.view());
  BookText text(context.limits);
  text.text = about.annotation;
  if (auto failed = book->lay_out(kWidePoints)) return failed;
  if (auto failed = text.read(*book, kPdfPagesMax)) return failed;
  Metadata metadata(task.metadata);
  metadata.add("Title", book->about("Title"));
  metadata.add("Author", book->about("Author"));
  metadata.add("Author", about.author);
  write(context, metadata, laid_out.pdf, text.text);
  return std::nullopt;
}

void warm() {
  html_step().warm();
}

}  // namespace

Step ebook_step() {
  return {"Ebook", version, warm, run, 1};
}

}  // namespace quern::worker
