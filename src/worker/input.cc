#include "worker/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "io/system_error.h"
#include "worker/scratch_file.h"

namespace quern::worker {
namespace {

constexpr std::size_t kFetchBufferBytes = 256 * 1024;

Result<io::Descriptor> open_path(const LentBlob& blob) {
  io::Descriptor file(::open(blob.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file.is_open()) return io::system_error(errno, "open a blob");
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return io::system_error(errno, "look at a blob");
  if (!S_ISREG(about.st_mode) || static_cast<std::uint64_t>(about.st_size) != blob.bytes) {
    return Error{Errc::Corrupt,
                 fmt::format("the blob has {} bytes, not {}", about.st_size, blob.bytes)};
  }
  return file;
}

struct Piece {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool whole = true;
};

Result<> check_status(const net::Answer& answer, const Piece& piece) {
  if (answer.status() == 404) return Error{Errc::Missing, "the task is over"};
  if (answer.status() == (piece.whole ? 200 : 206)) return {};
  return Error{Errc::Unavailable, fmt::format("the blob was answered {}", answer.status())};
}

net::Task<Result<>> fetch_piece(Line& line, std::string target, Piece piece, int file) {
  net::Request request = net::get_request(std::move(target));
  if (!piece.whole) {
    request.headers.set("Range",
                        fmt::format("bytes={}-{}", piece.offset, piece.offset + piece.bytes - 1));
  }
  net::Sent sent = co_await line.send(std::move(request));
  if (!sent.answer) co_return std::move(sent.answer).error();
  CO_TRY(check_status(*sent.answer, piece));
  std::string buffer(kFetchBufferBytes, '\0');
  std::uint64_t got = 0;
  for (;;) {
    CO_TRY_ASSIGN(const std::size_t n, co_await sent.answer->read(buffer));
    if (n == 0) break;
    if (::pwrite(file, buffer.data(), n, static_cast<off_t>(piece.offset + got)) !=
        static_cast<ssize_t>(n)) {
      co_return io::system_error(errno, "keep an input");
    }
    got += n;
    if (got > piece.bytes) break;
  }
  if (got == piece.bytes) co_return Result<>{};
  co_return Error{Errc::Corrupt,
                  fmt::format("the blob came with {} bytes, not {}", got, piece.bytes)};
}

net::Task<Result<>> fetch_edges(Line& line, std::string target, std::uint64_t bytes, int file) {
  Piece edge{0, kSampleEdgeBytes, false};
  CO_TRY(co_await fetch_piece(line, target, edge, file));
  edge.offset = bytes - kSampleEdgeBytes;
  co_return co_await fetch_piece(line, std::move(target), edge, file);
}

}  // namespace

net::Task<Result<io::Descriptor>> open_input(Lines& lines, LentBlob blob, InputOptions options) {
  if (blob.data) co_return make_memory_file(*blob.data);
  if (!blob.path.empty()) {
    auto opened = open_path(blob);
    // Somebody else's machine, or folder: the address is still good.
    if (opened || blob.url.empty()) co_return opened;
  }
  CO_TRY_ASSIGN(const Lines::Place from, lines.find(blob.url, Purpose::Blob));
  const bool edges = options.sample && blob.bytes > kSampleWholeMax;
  const bool small = blob.bytes <= kInputInMemoryMax;
  auto made = small ? make_memory_file("") : make_unnamed_file(options.temp_folder);
  CO_TRY_ASSIGN(const io::Descriptor file, std::move(made));
  // A hole where nothing is fetched.
  CO_TRY(set_size(file, blob.bytes));
  const Piece all{0, blob.bytes, true};
  auto fetched = edges ? fetch_edges(*from.line, from.target, blob.bytes, file.get())
                       : fetch_piece(*from.line, from.target, all, file.get());
  CO_TRY(co_await std::move(fetched));
  co_return reopen_read_only(file);
}

}  // namespace quern::worker
