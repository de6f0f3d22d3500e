#include "search/pack_file.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <vector>

#include "base/crash.h"
#include "blob/digest.h"

namespace quern::search {
namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;
// Of our own packs: 3 is as fast as the disk, higher ones gain a few percent.
constexpr int kLevel = 3;

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ::ZSTD_freeCCtx(context); }
};
struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ::ZSTD_freeDCtx(context); }
};

// What has been read goes through the compressor into the spool.
Result<> compress_piece(ZSTD_CCtx* context, std::string_view piece, bool last, blob::Spool& spool) {
  std::string out(::ZSTD_CStreamOutSize(), '\0');
  ZSTD_inBuffer in{piece.data(), piece.size(), 0};
  while (true) {
    ZSTD_outBuffer got{out.data(), out.size(), 0};
    const std::size_t left =
        ::ZSTD_compressStream2(context, &got, &in, last ? ZSTD_e_end : ZSTD_e_continue);
    if (::ZSTD_isError(left) != 0) return Error{Errc::Internal, ::ZSTD_getErrorName(left)};
    TRY(spool.write(std::string_view(out).substr(0, got.pos)));
    if (last ? left == 0 : in.pos == in.size) return {};
  }
}

}  // namespace

Result<blob::Put> store_pack_file(blob::BlobStore& blobs, const io::Path& file) {
  TRY_ASSIGN(const io::FileReader reader, io::FileReader::open(file));
  const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(::ZSTD_createCCtx());
  CHECK(context != nullptr);
  ::ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ::ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  blob::Spool spool(blobs);
  std::string piece(kPieceBytes, '\0');
  std::int64_t offset = 0;
  while (true) {
    TRY_ASSIGN(const std::size_t got, reader.read_at(offset, piece));
    offset += static_cast<std::int64_t>(got);
    const bool last = offset >= reader.size_bytes();
    TRY(compress_piece(context.get(), std::string_view(piece).substr(0, got), last, spool));
    if (last) break;
    if (got == 0) return Error{Errc::Corrupt, "the pack became shorter while it was stored"};
  }
  crash_point("search.pack.stored");
  return spool.finish();
}

struct PackReceiver::State {
  std::string digest;
  io::DurableFile file;
  std::unique_ptr<ZSTD_DCtx, FreeDecompressor> context;
  blob::Digest sha256{blob::Digest::Kind::Sha256};
  std::string out = std::string(::ZSTD_DStreamOutSize(), '\0');
  bool complete = false;
};

PackReceiver::PackReceiver(std::unique_ptr<State> state) : state_(std::move(state)) {}
PackReceiver::~PackReceiver() = default;
PackReceiver::PackReceiver(PackReceiver&&) noexcept = default;

Result<PackReceiver> PackReceiver::create(const io::Path& folder, const std::string& digest) {
  TRY_ASSIGN(io::DurableFile file, io::DurableFile::create(folder, digest + ".pack"));
  auto state = std::make_unique<State>(State{digest, std::move(file), {}});
  state->context.reset(::ZSTD_createDCtx());
  CHECK(state->context != nullptr);
  return PackReceiver(std::move(state));
}

Result<> PackReceiver::write(std::string_view compressed) {
  State& s = *state_;
  ZSTD_inBuffer in{compressed.data(), compressed.size(), 0};
  bool full = false;  // there may be more to come out, though nothing is left to go in
  while (in.pos < in.size || full) {
    if (s.complete) return Error{Errc::Corrupt, "bytes follow the end of the pack"};
    ZSTD_outBuffer got{s.out.data(), s.out.size(), 0};
    const std::size_t left = ::ZSTD_decompressStream(s.context.get(), &got, &in);
    if (::ZSTD_isError(left) != 0) {
      return Error{Errc::Corrupt,
                   fmt::format("the pack's compression is damaged: {}", ::ZSTD_getErrorName(left))};
    }
    s.complete = left == 0;
    full = got.pos == got.size && !s.complete;
    const std::string_view bytes = std::string_view(s.out).substr(0, got.pos);
    if (s.file.bytes_written() + static_cast<std::int64_t>(bytes.size()) > kPackBytesMax) {
      return over_limit("the pack's bytes", s.file.bytes_written(), kPackBytesMax,
                        "search.pack_bytes_max");
    }
    s.sha256.add(bytes);
    TRY(s.file.write(bytes));
  }
  return {};
}

Result<> PackReceiver::finish() {
  State& s = *state_;
  if (!s.complete) return Error{Errc::Corrupt, "the pack ends too early"};
  const std::string digest = blob::hex_of(s.sha256.finish());
  if (digest != s.digest) {
    return Error{Errc::Corrupt, fmt::format("these bytes are not the pack {}", s.digest)};
  }
  crash_point("search.pack.received");
  return s.file.commit();
}

}  // namespace quern::search
