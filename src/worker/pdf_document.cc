#include "worker/pdf_document.h"

#include <fmt/format.h>
#include <mupdf/pdf.h>

#include <algorithm>

#include "base/utf8.h"
#include "worker/cpu_alarm.h"
#include "worker/mupdf_call.h"
#include "worker/mupdf_context.h"
#include "worker/thumbnail.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr int kAboutBytesMax = 4096;
constexpr int kNotesMax = 1'000;
constexpr std::size_t kNotesBytesMax = 64 * 1024;
constexpr int kPageTreeDepthMax = 200;
// A4, for what has no pages of its own.
constexpr float kPageWidthPoints = 595;
constexpr float kPageHeightPoints = 842;
constexpr float kLettersPoints = 11;

// What a page says: itself, and what lies on top of it.
struct TextRun {
  fz_stext_page* text[2] = {};
  fz_device* device[2] = {};
  fz_cookie cookie{};
};

int run_for_text(fz_context* ctx, fz_page* page, TextRun& run) {
  const int code = mupdf_call(ctx, [&] {
    fz_stext_options options{};
    options.flags = FZ_STEXT_INHIBIT_SPACES;  // page_text() does that better
    for (int i = 0; i < 2; ++i) {
      run.text[i] = ::fz_new_stext_page(ctx, ::fz_bound_page(ctx, page));
      run.device[i] = ::fz_new_stext_device(ctx, run.text[i], &options);
    }
    ::fz_run_page_contents(ctx, page, run.device[0], fz_identity, &run.cookie);
    ::fz_run_page_annots(ctx, page, run.device[1], fz_identity, &run.cookie);
    ::fz_run_page_widgets(ctx, page, run.device[1], fz_identity, &run.cookie);
    for (fz_device* device : run.device) ::fz_close_device(ctx, device);
  });
  for (fz_device* device : run.device) ::fz_drop_device(ctx, device);
  return code;
}

// What people noted on a page without writing on it.
std::string notes_of(fz_context* ctx, fz_page* page) {
  std::string notes;
  mupdf_call(ctx, [&] {
    pdf_page* const of_pdf = ::pdf_page_from_fz_page(ctx, page);
    if (of_pdf == nullptr) return;
    int seen = 0;
    for (pdf_annot* note = ::pdf_first_annot(ctx, of_pdf);
         note != nullptr && seen < kNotesMax && notes.size() < kNotesBytesMax;
         note = ::pdf_next_annot(ctx, note), ++seen) {
      if (::pdf_annot_type(ctx, note) == PDF_ANNOT_FREE_TEXT) continue;  // drawn with the page
      const std::string_view text = ::pdf_annot_contents(ctx, note);
      if (text.empty()) continue;
      const char* author =
          ::pdf_annot_has_author(ctx, note) != 0 ? ::pdf_annot_author(ctx, note) : "";
      notes.append("\n").append(std::string_view(author).substr(0, kAboutBytesMax));
      if (*author != '\0') notes += ": ";
      notes += text.substr(0, kNotesBytesMax);
    }
  });
  return notes;
}

// How many pages the tree really has, up to one more than may be. MuPDF believes what a tree says
// of itself, and reads memory that nobody wrote where it lies.
struct PageCount {
  int pages = 0;
  int depth = 0;
};

void count_pages(fz_context* ctx, pdf_obj* node, PageCount& count) {
  pdf_obj* const kids = ::pdf_dict_get(ctx, node, PDF_NAME(Kids));
  if (!::pdf_is_array(ctx, kids)) {
    ++count.pages;
    return;
  }
  if (++count.depth > kPageTreeDepthMax) {
    ::fz_throw(ctx, FZ_ERROR_GENERIC, "its tree of pages is deeper than %d", kPageTreeDepthMax);
  }
  if (::pdf_mark_obj(ctx, node) != 0) {
    ::fz_throw(ctx, FZ_ERROR_GENERIC, "its tree of pages has a loop");
  }
  const int length = ::pdf_array_len(ctx, kids);
  for (int i = 0; i < length && count.pages <= kPdfPagesMax; ++i) {
    count_pages(ctx, ::pdf_array_get(ctx, kids, i), count);
  }
  ::pdf_unmark_obj(ctx, node);
  --count.depth;
}

}  // namespace

PdfPage::~PdfPage() {
  ::fz_drop_page(mupdf_context(), page_);
}

std::optional<Failure> PdfPage::read(std::uint64_t characters_max, PageText& text) const {
  fz_context* const ctx = mupdf_context();
  TextRun run;
  int code = FZ_ERROR_NONE;
  {
    const CpuAlarm alarm(kPageTextMs, &run.cookie.abort);
    code = run_for_text(ctx, page_, run);
  }
  if (run.text[1] != nullptr) text = page_text(*run.text[0], *run.text[1], characters_max);
  for (fz_stext_page* part : run.text) ::fz_drop_stext_page(ctx, part);
  text.text += valid_utf8(notes_of(ctx, page_));
  if (run.cookie.abort != 0) {
    return Failure{ErrorKind::Timeout,
                   fmt::format("its text is not read after {} s", kPageTextMs / 1000)};
  }
  if (code != FZ_ERROR_NONE) return mupdf_failure(ctx, code, "it");
  return std::nullopt;
}

std::optional<std::string> PdfPage::thumbnail(int pixels) const {
  fz_cookie cookie{};
  const CpuAlarm alarm(kPageDrawMs, &cookie.abort);
  return thumbnail_of_page(page_, pixels, &cookie);
}

std::optional<Failure> PdfDocument::open(std::string_view bytes, const char* type,
                                         std::unique_ptr<PdfDocument>& document) {
  fz_context* const ctx = mupdf_context();
  fz_stream* stream = nullptr;
  fz_document* opened = nullptr;
  const int code = mupdf_call(ctx, [&] {
    const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
    stream = ::fz_open_memory(ctx, data, bytes.size());
    opened = ::fz_open_document_with_stream(ctx, type, stream);
    if (::fz_is_document_reflowable(ctx, opened) != 0) {
      ::fz_layout_document(ctx, opened, kPageWidthPoints, kPageHeightPoints, kLettersPoints);
    }
  });
  ::fz_drop_stream(ctx, stream);
  if (opened != nullptr) document.reset(new PdfDocument(opened));
  if (code != FZ_ERROR_NONE) return mupdf_failure(ctx, code, "the document");
  return document->prepare();
}

PdfDocument::~PdfDocument() {
  ::fz_drop_document(mupdf_context(), document_);
}

std::optional<Failure> PdfDocument::prepare() {
  fz_context* const ctx = mupdf_context();
  if (::fz_needs_password(ctx, document_) != 0) {
    return Failure{ErrorKind::Encrypted,
                   "it opens with a password only: remove the password and add it again"};
  }
  pdf_document* const pdf = ::pdf_specifics(ctx, document_);
  PageCount count;
  const int code = mupdf_call(ctx, [&] {
    pages_ = ::fz_count_pages(ctx, document_);
    if (pdf == nullptr || pages_ > kPdfPagesMax) return;
    pdf_obj* const root = ::pdf_dict_get(ctx, ::pdf_trailer(ctx, pdf), PDF_NAME(Root));
    count_pages(ctx, ::pdf_dict_get(ctx, root, PDF_NAME(Pages)), count);
  });
  if (code != FZ_ERROR_NONE) return mupdf_failure(ctx, code, "the list of its pages");
  if (std::max(pages_, count.pages) > kPdfPagesMax) {
    return Failure{ErrorKind::TooMany,
                   fmt::format("it says it has {} pages; at most {} are read: split it",
                               std::max(pages_, count.pages), kPdfPagesMax)};
  }
  if (pdf == nullptr) return std::nullopt;
  if (count.pages != pages_) {
    return Failure{ErrorKind::Corrupt,
                   fmt::format("it says it has {} pages and has {}", pages_, count.pages)};
  }
  // Else each page is looked for from the first one on.
  mupdf_call(ctx, [&] { ::pdf_load_page_tree(ctx, pdf); });
  return std::nullopt;
}

std::optional<Failure> PdfDocument::lay_out(float width_points) {
  fz_context* const ctx = mupdf_context();
  const int code = mupdf_call(ctx, [&] {
    if (::fz_is_document_reflowable(ctx, document_) == 0) return;
    ::fz_layout_document(ctx, document_, width_points, kPageHeightPoints, kLettersPoints);
    pages_ = ::fz_count_pages(ctx, document_);
  });
  if (code != FZ_ERROR_NONE) return mupdf_failure(ctx, code, "its layout");
  return std::nullopt;
}

bool PdfDocument::was_repaired() const {
  const pdf_document* const pdf = ::pdf_specifics(mupdf_context(), document_);
  return pdf != nullptr && pdf->repair_attempted != 0;
}

bool PdfDocument::is_encrypted() const {
  const pdf_document* const pdf = ::pdf_specifics(mupdf_context(), document_);
  return pdf != nullptr && pdf->crypt != nullptr;
}

std::string PdfDocument::about(const char* key) const {
  fz_context* const ctx = mupdf_context();
  char value[kAboutBytesMax] = "";
  const int code = mupdf_call(ctx, [&] {
    char name[64];
    ::fz_snprintf(name, sizeof name, "info:%s", key);
    ::fz_lookup_metadata(ctx, document_, name, value, sizeof value);
  });
  return code == FZ_ERROR_NONE ? value : "";
}

std::optional<Failure> PdfDocument::load(int number, std::unique_ptr<PdfPage>& page) const {
  fz_context* const ctx = mupdf_context();
  fz_page* loaded = nullptr;
  const int code = mupdf_call(ctx, [&] { loaded = ::fz_load_page(ctx, document_, number); });
  if (code != FZ_ERROR_NONE) return mupdf_failure(ctx, code, fmt::format("page {}", number + 1));
  page = std::make_unique<PdfPage>(loaded);
  return std::nullopt;
}

std::optional<Failure> PdfDocument::write(std::string& pdf) const {
  fz_context* const ctx = mupdf_context();
  fz_buffer* buffer = nullptr;
  fz_output* output = nullptr;
  const int code = mupdf_call(ctx, [&] {
    pdf_write_options options = pdf_default_write_options;
    options.do_garbage = 1;
    options.do_compress = 1;
    options.do_encrypt = PDF_ENCRYPT_NONE;
    buffer = ::fz_new_buffer(ctx, 1 << 16);
    output = ::fz_new_output_with_buffer(ctx, buffer);
    ::pdf_write_document(ctx, ::pdf_specifics(ctx, document_), output, &options);
    ::fz_close_output(ctx, output);
  });
  if (code == FZ_ERROR_NONE) {
    pdf.assign(reinterpret_cast<const char*>(buffer->data), buffer->len);
  }
  ::fz_drop_output(ctx, output);
  ::fz_drop_buffer(ctx, buffer);
  if (code != FZ_ERROR_NONE) return mupdf_failure(ctx, code, "the document");
  return std::nullopt;
}

}  // namespace quern::worker
