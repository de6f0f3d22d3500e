#include "worker/pdf_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include "base/check.h"

namespace quern::worker {
namespace {

std::string deflated(std::string_view bytes) {
  uLongf size = ::compressBound(bytes.size());
  std::string packed(size, '\0');
  const int done = ::compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 6);
  CHECK(done == Z_OK);
  packed.resize(size);
  return packed;
}

}  // namespace

// The second line tells programs that this is no text.
PdfFile::PdfFile() : bytes_("%PDF-1.6\n%\xE2\xE3\xCF\xD3\n") {}

int PdfFile::reserve() {
  offsets_.push_back(0);
  return static_cast<int>(offsets_.size());
}

void PdfFile::set(int number, std::string_view object) {
  offsets_[static_cast<std::size_t>(number) - 1] = bytes_.size();
  fmt::format_to(std::back_inserter(bytes_), "{} 0 obj\n{}\nendobj\n", number, object);
}

int PdfFile::add(std::string_view object) {
  const int number = reserve();
  set(number, object);
  return number;
}

int PdfFile::add_stream(std::string_view entries, std::string_view bytes) {
  const int number = reserve();
  set_stream(number, entries, bytes);
  return number;
}

void PdfFile::set_stream(int number, std::string_view entries, std::string_view bytes) {
  const std::string packed = deflated(bytes);
  set(number, fmt::format("<<{}/Length {}/Filter/FlateDecode>>stream\n{}\nendstream", entries,
                          packed.size(), packed));
}

std::string PdfFile::finish(int catalog) {
  const std::size_t table = bytes_.size();
  fmt::format_to(std::back_inserter(bytes_), "xref\n0 {}\n0000000000 65535 f \n",
                 offsets_.size() + 1);
  for (const std::uint64_t offset : offsets_) {
    fmt::format_to(std::back_inserter(bytes_), "{:010} 00000 n \n", offset);
  }
  fmt::format_to(std::back_inserter(bytes_),
                 "trailer\n<</Size {}/Root {} 0 R>>\nstartxref\n{}\n%%EOF\n", offsets_.size() + 1,
                 catalog, table);
  return std::move(bytes_);
}

std::string pdf_string(std::string_view bytes) {
  std::string text = "(";
  for (const char byte : bytes) {
    if (byte == '(' || byte == ')' || byte == '\\') text += '\\';
    text += byte;
  }
  return text + ")";
}

}  // namespace quern::worker
