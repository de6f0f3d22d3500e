#include "worker/pdf_open.h"

#include "worker/pdf_rewrite.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr char kType[] = "application/pdf";

Failure no_pages(const std::optional<Failure>& failed) {
  if (failed) return *failed;
  return {ErrorKind::Corrupt, "it is no PDF, or so damaged that no page is left of it"};
}

}  // namespace

std::optional<Failure> open_pdf(std::string_view bytes, OpenPdf& open) {
  open.bytes = bytes;
  auto failed = PdfDocument::open(bytes, kType, open.document);
  if (failed && failed->kind != ErrorKind::Corrupt) return failed;
  if (!failed && open.document->pages() > 0) return std::nullopt;
  open.document.reset();
  if (bytes.size() > kRewriteBytesMax || mend(bytes, open.mended)) return no_pages(failed);
  const auto again = PdfDocument::open(open.mended, kType, open.document);
  if (again || open.document->pages() == 0) return no_pages(again ? again : failed);
  open.bytes = open.mended;
  return std::nullopt;
}

std::optional<Failure> open_sound_pdf(std::string_view bytes, OpenPdf& open) {
  if (auto failed = open_pdf(bytes, open)) return failed;
  if (open.is_mended() || !open.document->was_repaired()) return std::nullopt;
  std::string written;
  if (auto failed = open.document->write(written)) return failed;
  open.document.reset();
  open.mended = std::move(written);
  open.bytes = open.mended;
  return PdfDocument::open(open.bytes, kType, open.document);
}

}  // namespace quern::worker
