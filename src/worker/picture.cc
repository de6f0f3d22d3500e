#include "worker/picture.h"

#include <dav1d/dav1d.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <jxl/decode.h>
#include <libheif/heif.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "worker/icon.h"
#include "worker/thumbnail.h"

// libheif's decoders want threads of their own and wait for them, though a box starts none. They
// get these instead of their libraries' functions, and decode where they are asked to.
extern "C" int de265_start_worker_threads(void* /*decoder*/, int /*threads*/) {
  return 0;
}
extern "C" void dav1d_default_settings(Dav1dSettings* settings) {
  using Defaults = void (*)(Dav1dSettings*);
  static const auto defaults =
      reinterpret_cast<Defaults>(::dlsym(RTLD_NEXT, "dav1d_default_settings"));
  defaults(settings);
  settings->n_threads = 1;
}

namespace quern::worker {

using model::ErrorKind;

namespace {

using namespace std::string_view_literals;

constexpr int kQuality = 90;

Failure damaged(const char* what) {
  return {ErrorKind::Corrupt, fmt::format("the {} picture is damaged or cut short", what)};
}

Failure damaged_heif(const heif_error& error) {
  std::fprintf(stderr, "libheif: %s\n", error.message);
  return damaged("HEIF");
}

// Red, green, blue and how much of them is seen, over white paper.
std::string jpeg_over_white(const std::uint8_t* rgba, std::uint64_t width, std::uint64_t height,
                            std::uint64_t stride) {
  std::vector<std::uint8_t> rgb;
  rgb.reserve(width * height * 3);
  for (std::uint64_t y = 0; y < height; ++y) {
    const std::uint8_t* at = rgba + y * stride;
    for (std::uint64_t x = 0; x < width; ++x, at += 4) {
      for (int i = 0; i < 3; ++i) {
        rgb.push_back(static_cast<std::uint8_t>((at[i] * at[3] + 255 * (255 - at[3])) / 255));
      }
    }
  }
  const auto w = static_cast<int>(width);
  return jpeg_of({rgb.data(), w, static_cast<int>(height), std::ptrdiff_t{3} * w, 3}, kQuality);
}

// The first picture of those that move.
std::optional<Failure> from_webp(std::string_view bytes, std::string& jpeg) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  WebPBitstreamFeatures about{};
  if (::WebPGetFeatures(data, bytes.size(), &about) != VP8_STATUS_OK) return damaged("WebP");
  if (auto failed = judge_size(std::uint64_t(about.width), std::uint64_t(about.height))) {
    return failed;
  }
  const WebPData all{data, bytes.size()};
  WebPAnimDecoderOptions options;
  ::WebPAnimDecoderOptionsInit(&options);
  options.use_threads = 0;
  const std::unique_ptr<WebPAnimDecoder, void (*)(WebPAnimDecoder*)> decoder(
      ::WebPAnimDecoderNew(&all, &options), ::WebPAnimDecoderDelete);
  std::uint8_t* rgba = nullptr;
  int time = 0;
  if (!decoder || ::WebPAnimDecoderGetNext(decoder.get(), &rgba, &time) == 0) {
    return damaged("WebP");
  }
  const auto width = static_cast<std::uint64_t>(about.width);
  jpeg = jpeg_over_white(rgba, width, static_cast<std::uint64_t>(about.height), width * 4);
  return std::nullopt;
}

std::optional<Failure> from_heif(std::string_view bytes, std::string& jpeg) {
  const std::unique_ptr<heif_context, void (*)(heif_context*)> context(::heif_context_alloc(),
                                                                       ::heif_context_free);
  ::heif_context_set_max_decoding_threads(context.get(), 0);
  heif_error error = ::heif_context_read_from_memory_without_copy(context.get(), bytes.data(),
                                                                  bytes.size(), nullptr);
  heif_image_handle* found = nullptr;
  if (error.code == heif_error_Ok) {
    error = ::heif_context_get_primary_image_handle(context.get(), &found);
  }
  const std::unique_ptr<heif_image_handle, void (*)(const heif_image_handle*)> handle(
      found, ::heif_image_handle_release);
  if (error.code != heif_error_Ok) return damaged_heif(error);
  const auto width = static_cast<std::uint64_t>(::heif_image_handle_get_width(found));
  const auto height = static_cast<std::uint64_t>(::heif_image_handle_get_height(found));
  if (auto failed = judge_size(width, height)) return failed;
  heif_image* decoded = nullptr;
  error = ::heif_decode_image(found, &decoded, heif_colorspace_RGB, heif_chroma_interleaved_RGBA,
                              nullptr);
  const std::unique_ptr<heif_image, void (*)(const heif_image*)> image(decoded,
                                                                       ::heif_image_release);
  if (error.code == heif_error_Unsupported_feature) {
    return Failure{ErrorKind::Unsupported, "this kind of HEIF picture cannot be read here"};
  }
  if (error.code != heif_error_Ok) return damaged_heif(error);
  int stride = 0;
  const std::uint8_t* rgba =
      ::heif_image_get_plane_readonly(decoded, heif_channel_interleaved, &stride);
  const auto w = static_cast<std::uint64_t>(::heif_image_get_primary_width(decoded));
  const auto h = static_cast<std::uint64_t>(::heif_image_get_primary_height(decoded));
  jpeg = jpeg_over_white(rgba, w, h, static_cast<std::uint64_t>(stride));
  return std::nullopt;
}

class JxlReader {
 public:
  std::optional<Failure> read(std::string_view bytes, std::string& jpeg) {
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    ::JxlDecoderSubscribeEvents(decoder_.get(), JXL_DEC_BASIC_INFO | JXL_DEC_FULL_IMAGE);
    ::JxlDecoderSetInput(decoder_.get(), data, bytes.size());
    ::JxlDecoderCloseInput(decoder_.get());
    for (;;) {
      switch (::JxlDecoderProcessInput(decoder_.get())) {
        case JXL_DEC_BASIC_INFO:
          ::JxlDecoderGetBasicInfo(decoder_.get(), &about_);
          if (auto failed = judge_size(about_.xsize, about_.ysize)) return failed;
          break;
        case JXL_DEC_NEED_IMAGE_OUT_BUFFER:
          take_memory();
          break;
        case JXL_DEC_FULL_IMAGE:
          jpeg = jpeg_over_white(rgba_.data(), about_.xsize, about_.ysize,
                                 std::uint64_t{about_.xsize} * 4);
          return std::nullopt;
        default:
          return damaged("JPEG XL");
      }
    }
  }

 private:
  void take_memory() {
    rgba_.resize(std::size_t{about_.xsize} * about_.ysize * 4);
    const JxlPixelFormat format{4, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
    ::JxlDecoderSetImageOutBuffer(decoder_.get(), &format, rgba_.data(), rgba_.size());
  }

  std::unique_ptr<JxlDecoder, void (*)(JxlDecoder*)> decoder_{::JxlDecoderCreate(nullptr),
                                                              ::JxlDecoderDestroy};
  JxlBasicInfo about_{};
  std::vector<std::uint8_t> rgba_;
};

bool is_webp(std::string_view bytes) {
  return bytes.size() > 12 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WEBP";
}

bool is_heif(std::string_view bytes) {
  if (bytes.size() < 12 || bytes.substr(4, 4) != "ftyp") return false;
  const std::string_view brand = bytes.substr(8, 4);
  return brand == "heic" || brand == "heix" || brand == "mif1" || brand == "msf1" ||
         brand == "heim" || brand == "heis" || brand == "hevc" || brand == "avif" ||
         brand == "avis";
}

bool is_jxl(std::string_view bytes) {
  return bytes.starts_with("\xFF\x0A"sv) || bytes.starts_with("\0\0\0\x0CJXL "sv);
}

}  // namespace

std::optional<Failure> judge_size(std::uint64_t width, std::uint64_t height) {
  if (width == 0 || height == 0) return Failure{ErrorKind::Corrupt, "the picture has no size"};
  if (width <= kSideMax && height <= kSideMax && width * height <= kPixelsMax) return std::nullopt;
  return Failure{ErrorKind::TooLarge,
                 fmt::format("the picture has {} by {} pixels; at most {} million are read: make "
                             "it smaller and add it again",
                             width, height, kPixelsMax / 1'000'000)};
}

std::optional<Failure> to_known_picture(std::string_view bytes, Picture& picture) {
  std::optional<Failure> failed;
  if (is_webp(bytes)) {
    failed = from_webp(bytes, picture.converted);
  } else if (is_heif(bytes)) {
    failed = from_heif(bytes, picture.converted);
  } else if (is_jxl(bytes)) {
    failed = JxlReader().read(bytes, picture.converted);
  } else if (is_icon(bytes)) {
    failed = from_icon(bytes, picture.converted);
  } else {
    picture.bytes = bytes;
    return std::nullopt;
  }
  picture.bytes = picture.converted;
  return failed;
}

}  // namespace quern::worker
