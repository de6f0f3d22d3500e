#include "worker/image_pdf.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "worker/mupdf_call.h"
#include "worker/mupdf_context.h"
#include "worker/picture.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr std::size_t kHeadBytes = 4096;
// What MuPDF says of bytes that it does not know.
constexpr std::string_view kUnknownFormat = "unknown image file format";
constexpr int kGzip = 16;  // what zlib adds to say that it wants this format only

// By its head, before MuPDF takes memory for it.
std::optional<Failure> judge(std::string_view bytes) {
  fz_context* const ctx = mupdf_context();
  fz_buffer* buffer = nullptr;
  fz_image* image = nullptr;
  const int code = mupdf_call(ctx, [&] {
    const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
    buffer = ::fz_new_buffer_from_shared_data(ctx, data, bytes.size());
    image = ::fz_new_image_from_buffer(ctx, buffer);
  });
  std::optional<Failure> failed;
  if (code != FZ_ERROR_NONE && std::string_view(::fz_caught_message(ctx)) == kUnknownFormat) {
    failed = Failure{ErrorKind::Unsupported, "this kind of picture cannot be read here"};
  } else if (code != FZ_ERROR_NONE) {
    failed = mupdf_failure(ctx, code, "the picture");
  } else {
    failed = judge_size(static_cast<std::uint64_t>(std::max(image->w, 0)),
                        static_cast<std::uint64_t>(std::max(image->h, 0)));
  }
  ::fz_drop_image(ctx, image);
  ::fz_drop_buffer(ctx, buffer);
  return failed;
}

std::optional<Failure> unpack(std::string_view packed, std::string& drawing) {
  z_stream stream{};
  if (::inflateInit2(&stream, MAX_WBITS + kGzip) != Z_OK) throw std::bad_alloc();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(std::min<std::size_t>(packed.size(), kDrawingBytesMax));
  char piece[1 << 16];
  int code = Z_OK;
  while (code == Z_OK && drawing.size() <= kDrawingBytesMax) {
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof piece;
    code = ::inflate(&stream, Z_NO_FLUSH);
    drawing.append(piece, sizeof piece - stream.avail_out);
  }
  ::inflateEnd(&stream);
  if (drawing.size() > kDrawingBytesMax) {
    return Failure{ErrorKind::TooLarge,
                   fmt::format("the drawing is larger than {} bytes", kDrawingBytesMax)};
  }
  if (code == Z_STREAM_END) return std::nullopt;
  return Failure{ErrorKind::Corrupt, "the drawing is damaged or cut short"};
}

bool is_drawing(std::string_view bytes, std::string_view type) {
  return type.starts_with("image/svg") ||
         bytes.substr(0, kHeadBytes).find("<svg") != std::string_view::npos;
}

std::optional<Failure> lay_out_as(std::string_view bytes, const char* type, int pages_max,
                                  LaidOut& laid_out) {
  std::unique_ptr<PdfDocument> document;
  if (auto failed = PdfDocument::open(bytes, type, document)) return failed;
  return laid_out_pdf(*document, pages_max, laid_out);
}

}  // namespace

std::optional<Failure> image_pdf(std::string_view bytes, std::string_view type, int pages_max,
                                 LaidOut& laid_out) {
  if (is_drawing(bytes, type)) {
    std::string drawing;
    const bool is_packed = bytes.starts_with("\x1F\x8B");
    if (auto failed = is_packed ? unpack(bytes, drawing) : std::nullopt) return failed;
    return lay_out_as(is_packed ? drawing : bytes, "image/svg+xml", 1, laid_out);
  }
  Picture picture;
  if (auto failed = to_known_picture(bytes, picture)) return failed;
  if (auto failed = judge(picture.bytes)) return failed;
  return lay_out_as(picture.bytes, "image/png", pages_max, laid_out);
}

}  // namespace quern::worker
