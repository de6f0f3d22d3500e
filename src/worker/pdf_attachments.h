// Files that a PDF carries: those in its list of attachments and those pinned to a page.
//
// Lifetime: the document must live longer. Errors: a file that is damaged ends early.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "worker/pdf_document.h"
#include "worker/step.h"

struct pdf_obj;

namespace quern::worker {

class PdfAttachments {
 public:
  // At most so many, and one more to tell that there are more.
  PdfAttachments(const PdfDocument& document, std::uint64_t count_max);
  ~PdfAttachments();
  PdfAttachments(const PdfAttachments&) = delete;
  PdfAttachments& operator=(const PdfAttachments&) = delete;

  std::size_t size() const { return files_.size(); }
  // As the PDF says it; may be empty.
  const std::string& name(std::size_t i) const { return files_[i].name; }
  // Into a part that has begun. The failure says `corrupt` or `ratio`.
  std::optional<Failure> write(std::size_t i, const Limits& limits, PartWriter& out) const;

 private:
  struct File {
    std::string name;
    pdf_obj* stream;
    int number;
  };

  void add_listed(pdf_obj* root);
  void add_pinned(const PdfDocument& document);
  void add(pdf_obj* specification);

  std::uint64_t count_max_;
  std::vector<File> files_;
};

}  // namespace quern::worker
