// Rewriting PDFs by qpdf: repaired and in the order in which viewers want them (linearized), or
// page by page.
//
// The same input gives the same bytes: the file's identifier is made from its content, and its
// passwords, which need random numbers, go. Errors: Corrupt where qpdf cannot make sense of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "worker/limits.h"

class QPDF;

namespace quern::worker {

// Larger ones are not rewritten: qpdf holds all of it.
inline constexpr std::size_t kRewriteBytesMax = 256ULL << 20;

// Whether a viewer can show its first page before it has the rest: it says so, and its length is
// still the one it had then.
bool is_linearized(std::string_view pdf);

std::optional<Failure> linearize(std::string_view pdf, std::string& rewritten);

// A new PDF of those pages that can be found, for one whose tree of pages is damaged. Linearized.
std::optional<Failure> mend(std::string_view pdf, std::string& mended);

class PdfSplitter {
 public:
  static std::optional<Failure> open(std::string_view pdf, std::unique_ptr<PdfSplitter>& splitter);
  ~PdfSplitter();

  int pages() const;
  // A PDF of that page alone, with what it needs.
  std::optional<Failure> page(int number, std::string& pdf);

 private:
  PdfSplitter();

  struct Pages;
  std::unique_ptr<QPDF> qpdf_;
  std::unique_ptr<Pages> pages_;
};

}  // namespace quern::worker
