#include "worker/pdf_attachments.h"

#include <fmt/format.h>
#include <mupdf/pdf.h>

#include <algorithm>

#include "worker/mupdf_call.h"
#include "worker/mupdf_context.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr std::size_t kNameBytesMax = 1024;

struct Found {
  char name[kNameBytesMax] = "";
  pdf_obj* stream = nullptr;
};

// The names that are newer come first.
void look_at(fz_context* ctx, pdf_obj* specification, Found& found) {
  pdf_obj* const files = ::pdf_dict_get(ctx, specification, PDF_NAME(EF));
  for (pdf_obj* key : {PDF_NAME(UF), PDF_NAME(F), PDF_NAME(Unix), PDF_NAME(DOS), PDF_NAME(Mac)}) {
    pdf_obj* const name = ::pdf_dict_get(ctx, specification, key);
    if (found.name[0] == '\0' && ::pdf_is_string(ctx, name) != 0) {
      ::fz_strlcpy(found.name, ::pdf_to_text_string(ctx, name), sizeof found.name);
    }
    pdf_obj* const stream = ::pdf_dict_get(ctx, files, key);
    if (found.stream == nullptr && ::pdf_is_stream(ctx, stream) != 0) found.stream = stream;
  }
}

}  // namespace

PdfAttachments::PdfAttachments(const PdfDocument& document, std::uint64_t count_max)
    : count_max_(count_max) {
  fz_context* const ctx = mupdf_context();
  pdf_document* const pdf = ::pdf_specifics(ctx, document.get());
  if (pdf == nullptr) return;
  pdf_obj* listed = nullptr;
  mupdf_call(ctx, [&] { listed = ::pdf_load_name_tree(ctx, pdf, PDF_NAME(EmbeddedFiles)); });
  if (listed != nullptr) add_listed(listed);
  ::pdf_drop_obj(ctx, listed);
  add_pinned(document);
}

PdfAttachments::~PdfAttachments() {
  for (const File& file : files_) ::pdf_drop_obj(mupdf_context(), file.stream);
}

void PdfAttachments::add_listed(pdf_obj* root) {
  fz_context* const ctx = mupdf_context();
  const int count = ::pdf_dict_len(ctx, root);
  for (int i = 0; i < count && files_.size() <= count_max_; ++i) {
    pdf_obj* specification = nullptr;
    mupdf_call(ctx, [&] { specification = ::pdf_dict_get_val(ctx, root, i); });
    if (specification != nullptr) add(specification);
  }
}

void PdfAttachments::add_pinned(const PdfDocument& document) {
  fz_context* const ctx = mupdf_context();
  pdf_document* const pdf = ::pdf_specifics(ctx, document.get());
  for (int page = 0; page < document.pages(); ++page) {
    pdf_obj* notes = nullptr;
    int count = 0;
    mupdf_call(ctx, [&] {
      notes = ::pdf_dict_get(ctx, ::pdf_lookup_page_obj(ctx, pdf, page), PDF_NAME(Annots));
      count = ::pdf_array_len(ctx, notes);
    });
    for (int i = 0; i < count && files_.size() <= count_max_; ++i) {
      pdf_obj* specification = nullptr;
      mupdf_call(ctx, [&] {
        pdf_obj* const note = ::pdf_array_get(ctx, notes, i);
        pdf_obj* const kind = ::pdf_dict_get(ctx, note, PDF_NAME(Subtype));
        if (::pdf_name_eq(ctx, kind, PDF_NAME(FileAttachment)) == 0) return;
        specification = ::pdf_dict_get(ctx, note, PDF_NAME(FS));
      });
      if (specification != nullptr) add(specification);
    }
  }
}

// Once, however often it is named.
void PdfAttachments::add(pdf_obj* specification) {
  fz_context* const ctx = mupdf_context();
  Found found;
  const int code = mupdf_call(ctx, [&] { look_at(ctx, specification, found); });
  if (code != FZ_ERROR_NONE || found.stream == nullptr) return;
  const int number = ::pdf_to_num(ctx, found.stream);
  const auto known = [number](const File& file) { return file.number == number; };
  if (std::any_of(files_.begin(), files_.end(), known)) return;
  files_.push_back({found.name, ::pdf_keep_obj(ctx, found.stream), number});
}

std::optional<Failure> PdfAttachments::write(std::size_t i, const Limits& limits,
                                             PartWriter& out) const {
  fz_context* const ctx = mupdf_context();
  fz_stream* stream = nullptr;
  std::uint64_t packed = 0;
  int code = mupdf_call(ctx, [&] {
    packed = static_cast<std::uint64_t>(
        std::max<std::int64_t>(::pdf_dict_get_int(ctx, files_[i].stream, PDF_NAME(Length)), 1));
    stream = ::pdf_open_stream(ctx, files_[i].stream);
  });
  std::uint64_t written = 0;
  std::string piece(kPieceBytes, '\0');
  std::size_t got = 1;
  std::optional<Failure> failed;
  while (code == FZ_ERROR_NONE && got > 0 && !failed) {
    code = mupdf_call(ctx, [&] {
      got = ::fz_read(ctx, stream, reinterpret_cast<unsigned char*>(piece.data()), kPieceBytes);
    });
    if (code != FZ_ERROR_NONE) break;
    out.write({piece.data(), got});
    written += got;
    if (written > limits.ratio_from_bytes && written / limits.ratio > packed) {
      failed =
          Failure{ErrorKind::Ratio, fmt::format("it expands more than {} times", limits.ratio)};
    }
  }
  if (code != FZ_ERROR_NONE) failed = mupdf_failure(ctx, code, "the attached file");
  ::fz_drop_stream(ctx, stream);
  return failed;
}

}  // namespace quern::worker
