// PdfDocument: a document as MuPDF reads it: pages, their text and looks, what it says of itself.
//
// Also of ebooks and web pages, which MuPDF lays out. Guarantee: a page that is built to take for
// ever is stopped. Lifetime: the bytes must live longer. Threads: one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/limits.h"
#include "worker/page_text.h"

struct fz_document;
struct fz_page;

namespace quern::worker {

// Pages of a document that is read at all.
inline constexpr int kPdfPagesMax = 20'000;
inline constexpr std::uint64_t kPageCharactersMax = 1'000'000;
// CPU time for the text of a page and for its picture.
inline constexpr std::int64_t kPageTextMs = 20'000;
inline constexpr std::int64_t kPageDrawMs = 20'000;

class PdfPage {
 public:
  explicit PdfPage(fz_page* page) : page_(page) {}
  ~PdfPage();
  PdfPage(const PdfPage&) = delete;
  PdfPage& operator=(const PdfPage&) = delete;

  // The failure says `timeout` where it takes too long.
  std::optional<Failure> read(std::uint64_t characters_max, PageText& text) const;
  // A JPEG; nothing where it cannot be drawn.
  std::optional<std::string> thumbnail(int pixels) const;
  fz_page* get() const { return page_; }

 private:
  fz_page* page_;
};

class PdfDocument {
 public:
  // By its type: "application/pdf", "application/epub+zip", ...
  static std::optional<Failure> open(std::string_view bytes, const char* type,
                                     std::unique_ptr<PdfDocument>& document);
  ~PdfDocument();
  PdfDocument(const PdfDocument&) = delete;
  PdfDocument& operator=(const PdfDocument&) = delete;

  int pages() const { return pages_; }
  // Once more, on pages of that width; nothing happens to documents with pages of their own.
  std::optional<Failure> lay_out(float width_points);
  // Whether MuPDF had to look for its objects, since its table of them is damaged.
  bool was_repaired() const;
  bool is_encrypted() const;
  // "Title", "Author", ...; "" where it has none.
  std::string about(const char* key) const;
  std::optional<Failure> load(int number, std::unique_ptr<PdfPage>& page) const;
  // Its bytes as MuPDF understands them; for PDFs that are beyond qpdf.
  std::optional<Failure> write(std::string& pdf) const;
  fz_document* get() const { return document_; }

 private:
  explicit PdfDocument(fz_document* document) : document_(document) {}
  std::optional<Failure> prepare();

  fz_document* document_;
  int pages_ = 0;
};

}  // namespace quern::worker
