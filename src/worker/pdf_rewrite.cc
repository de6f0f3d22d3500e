#include "worker/pdf_rewrite.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <qpdf/Pl_Buffer.hh>
#include <qpdf/QPDF.hh>
#include <qpdf/QPDFLogger.hh>
#include <qpdf/QPDFPageDocumentHelper.hh>
#include <qpdf/QPDFWriter.hh>

#include "base/utf8.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr std::size_t kHeadBytes = 1024;

// qpdf throws what it finds out.
template <typename Action>
std::optional<Failure> guarded(const Action& action) {
  try {
    action();
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& exception) {
    return Failure{ErrorKind::Corrupt,
                   fmt::format("the PDF is damaged: {}", valid_utf8(exception.what()))};
  }
}

void read_from(QPDF& qpdf, std::string_view pdf) {
  qpdf.setSuppressWarnings(true);
  qpdf.processMemoryFile("input", pdf.data(), pdf.size());
}

enum class Order { Plain, Linear };

std::string written(QPDF& qpdf, Order order) {
  QPDFWriter writer(qpdf);
  Pl_Buffer out("output");
  writer.setOutputPipeline(&out);
  writer.setPreserveEncryption(false);
  writer.setDeterministicID(true);
  writer.setLinearization(order == Order::Linear);
  writer.setObjectStreamMode(qpdf_o_preserve);
  writer.write();
  const auto buffer = out.getBufferSharedPointer();
  return {reinterpret_cast<const char*>(buffer->getBuffer()), buffer->getSize()};
}

}  // namespace

struct PdfSplitter::Pages {
  std::vector<QPDFPageObjectHelper> list;
};

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
  return guarded([&] {
    QPDF qpdf;
    read_from(qpdf, pdf);
    rewritten = written(qpdf, Order::Linear);
  });
}

std::optional<Failure> mend(std::string_view pdf, std::string& mended) {
  return guarded([&] {
    QPDF damaged;
    read_from(damaged, pdf);
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
    mended = written(fresh, Order::Linear);
  });
}

PdfSplitter::PdfSplitter() : qpdf_(std::make_unique<QPDF>()), pages_(std::make_unique<Pages>()) {}

PdfSplitter::~PdfSplitter() = default;

std::optional<Failure> PdfSplitter::open(std::string_view pdf,
                                         std::unique_ptr<PdfSplitter>& splitter) {
  splitter.reset(new PdfSplitter());
  return guarded([&] {
    read_from(*splitter->qpdf_, pdf);
    QPDFPageDocumentHelper helper(*splitter->qpdf_);
    helper.pushInheritedAttributesToPage();
    splitter->pages_->list = helper.getAllPages();
  });
}

int PdfSplitter::pages() const {
  return static_cast<int>(pages_->list.size());
}

std::optional<Failure> PdfSplitter::page(int number, std::string& pdf) {
  return guarded([&] {
    QPDFPageObjectHelper page = pages_->list.at(static_cast<std::size_t>(number));
    // Pages often name the resources of all: without this, each would carry the whole file.
    page.removeUnreferencedResources();
    QPDF single;
    single.emptyPDF();
    QPDFPageDocumentHelper(single).addPage(page, false);
    pdf = written(single, Order::Plain);
  });
}

}  // namespace quern::worker
