#include "worker/pdf_rewrite.h"

#include "worker/qpdf_call.h"
#include "worker/qpdf_headers.h"

namespace quern::worker {

namespace {

constexpr std::size_t kHeadBytes = 1024;

}  // namespace

struct PdfSplitter::Pages {
  std::vector<QPDFPageObjectHelper> list;
};

void qpdf_read(QPDF& qpdf, std::string_view pdf) {
  qpdf.setSuppressWarnings(true);
  qpdf.processMemoryFile("input", pdf.data(), pdf.size());
}

std::string qpdf_written(QPDF& qpdf, QpdfOrder order) {
  QPDFWriter writer(qpdf);
  Pl_Buffer out("output");
  writer.setOutputPipeline(&out);
  writer.setPreserveEncryption(false);
  writer.setDeterministicID(true);
  writer.setLinearization(order == QpdfOrder::Linear);
  writer.setObjectStreamMode(qpdf_o_preserve);
  writer.write();
  const auto buffer = out.getBufferSharedPointer();
  return {reinterpret_cast<const char*>(buffer->getBuffer()), buffer->getSize()};
}

bool is_linearized(std::string_view pdf) {
  const std::string_view head = pdf.substr(0, kHeadBytes);
  const std::size_t mark = head.find("/Linearized");
  if (mark == std::string_view::npos) return false;
  const std::size_t end = head.find(">>", mark);
  const std::size_t begin = head.rfind("<<", mark);
  if (end == std::string_view::npos || begin == std::string_view::npos) return false;
  const std::string_view dictionary = head.substr(begin, end - begin);
  std::size_t at = dictionary.find("/L ");
  if (at == std::string_view::npos) return false;
  std::uint64_t length = 0;
  for (at += 3; at < dictionary.size() && dictionary[at] >= '0' && dictionary[at] <= '9'; ++at) {
    length = length * 10 + static_cast<std::uint64_t>(dictionary[at] - '0');
  }
  return length == pdf.size();
}

std::optional<Failure> linearize(std::string_view pdf, std::string& rewritten) {
  return qpdf_call([&] {
    QPDF qpdf;
    qpdf_read(qpdf, pdf);
    rewritten = qpdf_written(qpdf, QpdfOrder::Linear);
  });
}

std::optional<Failure> mend(std::string_view pdf, std::string& mended) {
  return qpdf_call([&] {
    QPDF damaged;
    qpdf_read(damaged, pdf);
    QPDF fresh;
    fresh.emptyPDF();
    QPDFPageDocumentHelper pages(fresh);
    for (QPDFPageObjectHelper& page : QPDFPageDocumentHelper(damaged).getAllPages()) {
      pages.addPage(page, false);
    }
    QPDFObjectHandle info = damaged.getTrailer().getKey("/Info");
    if (info.isIndirect() && info.isDictionary()) {
      fresh.getTrailer().replaceKey("/Info", fresh.copyForeignObject(info));
    }
    mended = qpdf_written(fresh, QpdfOrder::Linear);
  });
}

PdfSplitter::PdfSplitter() : qpdf_(std::make_unique<QPDF>()), pages_(std::make_unique<Pages>()) {}

PdfSplitter::~PdfSplitter() = default;

std::optional<Failure> PdfSplitter::open(std::string_view pdf,
                                         std::unique_ptr<PdfSplitter>& splitter) {
  splitter.reset(new PdfSplitter());
  return qpdf_call([&] {
    qpdf_read(*splitter->qpdf_, pdf);
    QPDFPageDocumentHelper helper(*splitter->qpdf_);
    helper.pushInheritedAttributesToPage();
    splitter->pages_->list = helper.getAllPages();
  });
}

int PdfSplitter::pages() const {
  return static_cast<int>(pages_->list.size());
}

std::optional<Failure> PdfSplitter::page(int number, std::string& pdf) {
  return qpdf_call([&] {
    QPDFPageObjectHelper page = pages_->list.at(static_cast<std::size_t>(number));
    // Pages often name the resources of all: without this, each would carry the whole file.
    page.removeUnreferencedResources();
    QPDF single;
    single.emptyPDF();
    QPDFPageDocumentHelper(single).addPage(page, false);
    pdf = qpdf_written(single, QpdfOrder::Plain);
  });
}

}  // namespace quern::worker
