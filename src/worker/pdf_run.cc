#include "worker/pdf_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "worker/member_name.h"
#include "worker/metadata.h"
#include "worker/pdf_attachments.h"
#include "worker/pdf_open.h"
#include "worker/pdf_rewrite.h"
#include "worker/thumbnail.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr char kType[] = "application/pdf";
// A viewer fetches so much at once, so that its order does not matter.
constexpr std::size_t kSmallBytes = 512 * 1024;
// All pages of a split PDF together: so many times its bytes, or so many if it is small.
constexpr std::uint64_t kSplitRatio = 100;
constexpr std::uint64_t kSplitBytes = 1ULL << 30;

// A child as the Pdf step makes it asks for nothing more.
std::string child_of(const StepTask& task, const Metadata& metadata,
                     std::span<const std::size_t> page_ends = {}) {
  StepTask settled = task;
  settled.metadata = metadata.json();
  settled.want_split_by_page = false;
  return child_json(settled, {task.filename, kType, false, page_ends});
}

void add_about(const PdfDocument& document, Metadata& metadata) {
  for (const char* key : {"Title", "Author", "Subject", "Keywords", "Creator", "Producer"}) {
    metadata.add(key, document.about(key));
  }
  metadata.add("Creation Date", pdf_date(document.about("CreationDate")));
  metadata.add("Modification Date", pdf_date(document.about("ModDate")));
}

class PdfRun {
 public:
  PdfRun(StepContext& context, const PdfSource& source)
      : context_(context),
        out_(context.out),
        source_(source.bytes),
        is_new_(source.is_new),
        metadata_(context.task.metadata) {
    if (source.is_from_ocr) metadata_.set_true("isFromOcr");
  }

  StepEnd run() {
    if (auto failed = open_pdf(source_, open_)) return failed;
    bytes_ = open_.bytes;
    is_new_ = is_new_ || open_.is_mended();
    document_ = open_.document.get();
    add_about(*document_, metadata_);
    return context_.task.want_split_by_page ? split() : whole();
  }

 private:
  StepEnd whole() {
    std::string text;
    std::string thumbnail;
    std::vector<std::size_t> page_ends;
    for (int i = 0; i < document_->pages(); ++i) {
      if (auto failed = read(i, text, i == 0 ? &thumbnail : nullptr)) return failed;
      page_ends.push_back(text.size());
    }
    if (static_cast<int>(damaged_.size()) == document_->pages()) return first_damage_;
    out_.part("0.json", child_of(context_.task, metadata_, page_ends));
    write_blob();
    if (!thumbnail.empty()) out_.part("0-thumbnail.jpg", thumbnail);
    out_.part("0.txt", text);
    next_ = 1;
    if (!damaged_.empty()) tell_damaged();
    return write_attachments();
  }

  // Children of their own, which go their own ways.
  StepEnd write_attachments() {
    const std::uint64_t max = context_.limits.members;
    const PdfAttachments files(*document_, max);
    for (std::size_t i = 0; i < files.size(); ++i, ++next_) {
      if (i == max) {
        return Failure{ErrorKind::TooMany, fmt::format("it carries more than {} files", max)};
      }
      // Before each, so that what fails below does not take the one before with it.
      out_.part("progress", fmt::format("{:.4f}", double(i) / double(files.size())));
      const std::string plain = plain_name(files.name(i));
      const std::string name = plain.empty() ? fmt::format("attachment-{}", i + 1) : plain;
      const std::string path = context_.task.filename + "/" + name;
      const ChildFields child{path, "application/octet-stream", context_.task.want_ocr};
      out_.part(part_name(".json"), child_json(context_.task, child));
      out_.begin(part_name(".blob"));
      const auto failed = files.write(i, context_.limits, out_);
      out_.end();
      if (failed) out_.part(part_name(".error"), failure_json(*failed));
    }
    return std::nullopt;
  }

  std::string part_name(const char* what) const { return std::to_string(next_) + what; }

  // Only what takes for ever ends it; a page that cannot be read is told of at the end.
  StepEnd read(int number, std::string& text, std::string* thumbnail) {
    std::unique_ptr<PdfPage> page;
    if (const auto failed = document_->load(number, page)) return damaged(number, *failed);
    PageText found;
    const auto failed = page->read(characters_left(), found);
    text += found.text;
    characters_ += found.characters;
    if (failed && failed->kind != ErrorKind::Corrupt) return at_page(number, *failed);
    if (failed) return damaged(number, *failed);
    if (found.was_cut) std::fprintf(stderr, "the text of page %d is cut\n", number + 1);
    if (thumbnail != nullptr) *thumbnail = page->thumbnail(kPageThumbnailPixels).value_or("");
    return std::nullopt;
  }

  std::uint64_t characters_left() const {
    const std::uint64_t max = context_.limits.text_characters;
    return std::min(kPageCharactersMax, max - std::min(max, characters_));
  }

  StepEnd damaged(int number, const Failure& failure) {
    if (damaged_.empty()) first_damage_ = at_page(number, failure);
    damaged_.push_back(number + 1);
    return std::nullopt;
  }

  static Failure at_page(int number, const Failure& failure) {
    return {failure.kind, fmt::format("page {}: {}", number + 1, failure.message)};
  }

  // An error beside the document, so that nobody takes it for whole.
  void tell_damaged() {
    out_.part(part_name(".json"), child_of(context_.task, metadata_));
    out_.part(
        part_name(".error"),
        failure_json({first_damage_->kind,
                      fmt::format("{} of {} pages cannot be read, the first is {}", damaged_.size(),
                                  document_->pages(), first_damage_->message)}));
    ++next_;
  }

  // Its own bytes where they are good and nothing is gained by another order.
  void write_blob() {
    if (is_new_) return out_.part("0.blob", bytes_);
    const bool good = !document_->was_repaired();
    const bool quick = bytes_.size() <= kSmallBytes || is_linearized(bytes_);
    if ((good && quick) || bytes_.size() > kRewriteBytesMax) return out_.part("inherit-blob", "");
    std::string rewritten;
    if (const auto failed = rewrite(rewritten)) {
      std::fprintf(stderr, "kept as it is: %s\n", failed->message.c_str());
      return out_.part("inherit-blob", "");
    }
    out_.part("0.blob", rewritten);
  }

  // By qpdf; what it cannot make sense of MuPDF may, which does not write in viewers' order.
  StepEnd rewrite(std::string& rewritten) {
    const auto failed = linearize(bytes_, rewritten);
    std::string plain;
    if (!failed || document_->write(plain)) return failed;
    if (linearize(plain, rewritten)) rewritten = plain;
    return std::nullopt;
  }

  // Through MuPDF where the splitter alone does not find as many pages.
  StepEnd open_splitter(std::unique_ptr<PdfSplitter>& splitter) {
    auto failed = PdfSplitter::open(bytes_, splitter);
    if (!failed && splitter->pages() == document_->pages()) return std::nullopt;
    if (document_->write(written_)) return failed;
    return PdfSplitter::open(written_, splitter);
  }

  StepEnd split() {
    std::unique_ptr<PdfSplitter> splitter;
    if (auto failed = open_splitter(splitter)) return failed;
    const int pages = splitter->pages();
    const std::uint64_t bytes_max = std::max(kSplitBytes, bytes_.size() * kSplitRatio);
    std::uint64_t bytes = 0;
    for (int i = 0; i < pages; ++i) {
      if (bytes > bytes_max) {
        return Failure{ErrorKind::TooLarge,
                       fmt::format("its pages together are more than {} bytes", bytes_max)};
      }
      if (auto failed = write_page(*splitter, i, bytes)) return failed;
      out_.part("progress", fmt::format("{:.4f}", double(i + 1) / pages));
    }
    next_ = pages;
    return write_attachments();
  }

  StepEnd write_page(PdfSplitter& splitter, int number, std::uint64_t& bytes) {
    std::string text;
    std::string thumbnail;
    std::string blob;
    damaged_.clear();
    characters_ = 0;
    if (auto failed = read(number, text, &thumbnail)) return failed;
    auto failed = damaged_.empty() ? std::nullopt : first_damage_;
    if (!failed) failed = splitter.page(number, blob);
    Metadata metadata = metadata_;
    metadata.set("pageNumber", number + 1);
    const auto part = [number](const char* what) { return std::to_string(number) + what; };
    out_.part(part(".json"), child_of(context_.task, metadata));
    if (failed) {
      out_.part(part(".error"), failure_json(*failed));
      return std::nullopt;
    }
    if (!thumbnail.empty()) out_.part(part("-thumbnail.jpg"), thumbnail);
    out_.part(part(".txt"), text);
    out_.part(part(".blob"), blob);
    bytes += blob.size();
    return std::nullopt;
  }

  StepContext& context_;
  PartWriter& out_;
  std::string_view source_;
  std::string_view bytes_;
  std::string written_;
  bool is_new_;
  OpenPdf open_;
  const PdfDocument* document_ = nullptr;
  Metadata metadata_;
  std::uint64_t characters_ = 0;
  std::vector<int> damaged_;
  StepEnd first_damage_;
  int next_ = 0;  // child
};

}  // namespace

StepEnd run_pdf(StepContext& context, const PdfSource& source) {
  return PdfRun(context, source).run();
}

}  // namespace quern::worker
