#include "web/decoder.h"

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

#include "web/url_escape.h"

namespace quern::web {
namespace {

// RFC 9659: what a browser must be able to, and no more.
constexpr int kZstdWindowLogMax = 23;

Error broken(std::string_view coding) {
  return {Errc::Invalid, "the body is no valid " + std::string(coding)};
}
Error cut_short(std::string_view coding) {
  return {Errc::Invalid, "the body ends before its " + std::string(coding) + " does"};
}

class ZlibDecoder : public ContentDecoder {
 public:
  enum class Kind { Gzip, Deflate };
  ZlibDecoder(Kind kind, Sink sink)
      : kind_(kind), sink_(std::move(sink)), out_(kDecodePieceBytes, '\0') {}
  ~ZlibDecoder() override {
    if (is_open_) ::inflateEnd(&stream_);
  }
  ZlibDecoder(const ZlibDecoder&) = delete;
  ZlibDecoder& operator=(const ZlibDecoder&) = delete;

  Result<> write(std::string_view bytes) override {
    if (!is_open_) {
      first_ += bytes;
      if (first_.size() < 2) return {};
      open();
      const std::string first = std::exchange(first_, {});
      return inflate_all(first);
    }
    return inflate_all(bytes);
  }

  Result<> finish() override {
    if (ended_ || (!is_open_ && first_.empty())) return {};
    if (members_ > 0 && stream_.total_out == 0) return {};  // a stray byte behind the end
    return cut_short(name());
  }

 private:
  std::string_view name() const { return kind_ == Kind::Gzip ? "gzip" : "deflate"; }

  // Servers send "deflate" in both ways: the two bytes of zlib's wrapping tell.
  void open() {
    const auto cmf = static_cast<unsigned char>(first_[0]);
    const auto flags = static_cast<unsigned char>(first_[1]);
    const bool is_wrapped = (cmf & 15) == 8 && (cmf * 256 + flags) % 31 == 0;
    const int bits = kind_ == Kind::Gzip ? MAX_WBITS + 16 : is_wrapped ? MAX_WBITS : -MAX_WBITS;
    CHECK(::inflateInit2(&stream_, bits) == Z_OK);
    is_open_ = true;
  }

  Result<> inflate_all(std::string_view bytes) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    while (stream_.avail_in > 0 || is_full_) {
      if (ended_ && !begin_member()) return {};
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      const int code = ::inflate(&stream_, Z_NO_FLUSH);
      is_full_ = stream_.avail_out == 0;
      const std::size_t made = out_.size() - stream_.avail_out;
      if (made > 0) TRY(sink_(std::string_view(out_).substr(0, made)));
      if (code == Z_STREAM_END) {
        ended_ = true;
        is_full_ = false;
        ++members_;
      } else if (code == Z_BUF_ERROR) {
        is_full_ = false;
        break;  // wants more
      } else if (code != Z_OK) {
        if (members_ > 0 && stream_.total_out == 0) return stop();  // no member: junk behind it
        return broken(name());
      }
    }
    return {};
  }

  // Behind the end: another gzip member, or junk that browsers pass over.
  bool begin_member() {
    if (is_done_) return false;
    if (kind_ != Kind::Gzip || *stream_.next_in != 0x1F) {
      (void)stop();
      return false;
    }
    CHECK(::inflateReset(&stream_) == Z_OK);
    ended_ = false;
    return true;
  }

  Result<> stop() {
    ended_ = is_done_ = true;
    return {};
  }

  Kind kind_;
  Sink sink_;
  std::string out_;
  std::string first_;  // until two bytes are there
  z_stream stream_{};
  bool is_open_ = false;
  bool is_full_ = false;
  bool ended_ = false;    // between members
  bool is_done_ = false;  // for good
  int members_ = 0;
};

class BrotliDecoder : public ContentDecoder {
 public:
  explicit BrotliDecoder(Sink sink)
      : sink_(std::move(sink)), state_(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr)) {
    CHECK(state_ != nullptr);
  }
  ~BrotliDecoder() override { BrotliDecoderDestroyInstance(state_); }
  BrotliDecoder(const BrotliDecoder&) = delete;
  BrotliDecoder& operator=(const BrotliDecoder&) = delete;

  Result<> write(std::string_view bytes) override {
    if (!bytes.empty()) has_bytes_ = true;
    const auto* in = reinterpret_cast<const std::uint8_t*>(bytes.data());
    std::size_t in_size = bytes.size();
    while (!ended_) {
      std::size_t out_size = 0;
      const BrotliDecoderResult result =
          BrotliDecoderDecompressStream(state_, &in_size, &in, &out_size, nullptr, nullptr);
      if (result == BROTLI_DECODER_RESULT_ERROR) return broken("br");
      while (BrotliDecoderHasMoreOutput(state_)) {
        std::size_t size = kDecodePieceBytes;
        const std::uint8_t* out = BrotliDecoderTakeOutput(state_, &size);
        TRY(sink_({reinterpret_cast<const char*>(out), size}));
      }
      if (result == BROTLI_DECODER_RESULT_SUCCESS) ended_ = true;
      if (result == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT) break;
    }
    return {};
  }

  Result<> finish() override {
    if (ended_ || !has_bytes_) return {};
    return cut_short("br");
  }

 private:
  Sink sink_;
  BrotliDecoderState* state_;
  bool ended_ = false;
  bool has_bytes_ = false;
};

class ZstdDecoder : public ContentDecoder {
 public:
  explicit ZstdDecoder(Sink sink)
      : sink_(std::move(sink)), out_(kDecodePieceBytes, '\0'), context_(ZSTD_createDCtx()) {
    CHECK(context_ != nullptr);
    CHECK(!ZSTD_isError(ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kZstdWindowLogMax)));
  }
  ~ZstdDecoder() override { ZSTD_freeDCtx(context_); }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;

  Result<> write(std::string_view bytes) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    bool is_full = false;
    while (in.pos < in.size || is_full) {
      ZSTD_outBuffer out{out_.data(), out_.size(), 0};
      const std::size_t left = ZSTD_decompressStream(context_, &out, &in);
      if (ZSTD_isError(left)) return broken("zstd");
      is_full = out.pos == out.size && left != 0;
      ended_ = left == 0;
      if (out.pos > 0) TRY(sink_(std::string_view(out_).substr(0, out.pos)));
    }
    return {};
  }

  Result<> finish() override {
    if (ended_) return {};
    return cut_short("zstd");
  }

 private:
  Sink sink_;
  std::string out_;
  ZSTD_DCtx* context_;
  bool ended_ = true;  // a frame; nothing is none
};

// The coding that was applied last is taken off first, and feeds the next.
class ChainedDecoder : public ContentDecoder {
 public:
  explicit ChainedDecoder(std::vector<std::unique_ptr<ContentDecoder>> parts)
      : parts_(std::move(parts)) {}
  Result<> write(std::string_view bytes) override { return parts_.front()->write(bytes); }
  Result<> finish() override {
    for (const auto& part : parts_) TRY(part->finish());
    return {};
  }

 private:
  std::vector<std::unique_ptr<ContentDecoder>> parts_;  // in the order in which they are taken off
};

std::vector<std::string> codings_of(std::string_view header) {
  std::vector<std::string> codings;
  while (!header.empty()) {
    const std::size_t comma = std::min(header.find(','), header.size());
    std::string coding = to_lower(header.substr(0, comma));
    header.remove_prefix(std::min(comma + 1, header.size()));
    std::erase_if(coding, [](char c) { return c == ' ' || c == '\t'; });
    if (!coding.empty() && coding != "identity") codings.push_back(std::move(coding));
  }
  return codings;
}

std::unique_ptr<ContentDecoder> make_one(const std::string& coding, ContentDecoder::Sink sink) {
  using Kind = ZlibDecoder::Kind;
  if (coding == "gzip" || coding == "x-gzip") {
    return std::make_unique<ZlibDecoder>(Kind::Gzip, std::move(sink));
  }
  if (coding == "deflate") return std::make_unique<ZlibDecoder>(Kind::Deflate, std::move(sink));
  if (coding == "br") return std::make_unique<BrotliDecoder>(std::move(sink));
  if (coding == "zstd") return std::make_unique<ZstdDecoder>(std::move(sink));
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<ContentDecoder>> make_decoder(std::string_view content_encoding,
                                                     ContentDecoder::Sink sink) {
  const std::vector<std::string> codings = codings_of(content_encoding);
  if (codings.size() > kContentCodingsMax) {
    return Error{Errc::Invalid, "the body has too many content codings"};
  }
  std::vector<std::unique_ptr<ContentDecoder>> parts;
  for (const std::string& coding : codings) {
    if (!parts.empty()) {
      sink = [next = parts.front().get()](std::string_view piece) { return next->write(piece); };
    }
    auto part = make_one(coding, std::exchange(sink, nullptr));
    if (!part) return std::unique_ptr<ContentDecoder>();
    parts.insert(parts.begin(), std::move(part));
  }
  if (parts.empty()) return std::unique_ptr<ContentDecoder>();
  if (parts.size() == 1) return std::move(parts.front());
  return std::unique_ptr<ContentDecoder>(std::make_unique<ChainedDecoder>(std::move(parts)));
}

}  // namespace quern::web
