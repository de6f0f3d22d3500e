#include "app/add_upload.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <boost/json.hpp>
#include <iostream>

#include "app/ask.h"
#include "app/output.h"
#include "blob/digest.h"
#include "io/file.h"
#include "model/tus.h"
#include "net/target.h"
#include "queue/await.h"
#include "step/child_file.h"

namespace quern::app {
namespace {

namespace json = boost::json;

Result<std::string> read_piece(const io::FileReader& file, std::int64_t offset, std::size_t bytes) {
  std::string piece(bytes, '\0');
  TRY_ASSIGN(const std::size_t got, file.read_at(offset, piece));
  piece.resize(got);
  return piece;
}

Result<std::string> sha256_of_file(const std::filesystem::path& path) {
  TRY_ASSIGN(const io::FileReader file, io::FileReader::open(path));
  blob::Digest digest(blob::Digest::Kind::Sha256);
  std::vector<char> buffer(256 * 1024);
  std::int64_t offset = 0;
  while (true) {
    TRY_ASSIGN(const std::size_t got, file.read_at(offset, buffer));
    if (got == 0) return blob::hex_of(digest.finish());
    digest.add({buffer.data(), got});
    offset += static_cast<std::int64_t>(got);
  }
}

// Standard input has no size: it is kept in a file until its end has come.
struct Drained {
  std::filesystem::path path;
  std::FILE* file = nullptr;
};
Result<std::string> drain_standard_input() {
  std::string path = (std::filesystem::temp_directory_path() / "quern-stdin-XXXXXX").string();
  const int file = ::mkstemp(path.data());
  if (file < 0) return Error{Errc::Unavailable, "cannot make a temporary file for standard input"};
  std::vector<char> buffer(256 * 1024);
  Result<std::string> result = path;
  while (std::cin) {
    std::cin.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const auto got = static_cast<std::size_t>(std::cin.gcount());
    std::size_t written = 0;
    while (written < got) {
      const ssize_t some = ::write(file, buffer.data() + written, got - written);
      if (some <= 0) {
        result = Error{Errc::Full, "standard input does not fit into the temporary folder"};
        break;
      }
      written += static_cast<std::size_t>(some);
    }
    if (!result.ok()) break;
  }
  ::close(file);
  if (!result.ok()) ::unlink(path.c_str());
  return result;
}

}  // namespace

std::string make_random_key() {
  std::uint64_t bits[2];
  CHECK(::getrandom(bits, sizeof bits, 0) == sizeof bits);
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

Uploader::Uploader(Command command, Door& door, const AddOrder& order, std::int64_t job)
    : command_(command), door_(door), order_(order), job_(job) {}

std::string Uploader::options_json() const {
  step::FileOptions options;
  options.ocr = order_.ocr;
  options.split_by_page = order_.split_by_page;
  options.language = order_.language;
  options.user_metadata = order_.metadata == "{}" ? "" : order_.metadata;
  return step::to_json(options);
}

net::Task<Result<>> Uploader::send_all() {
  CO_TRY(co_await send_walk());
  co_return co_await flush();
}

net::Task<Result<>> Uploader::send_walk() {
  std::vector<std::string> paths;
  std::int64_t inputs = 0;
  for (const std::string& path : order_.paths) {
    if (path == "-") {
      ++inputs;
    } else {
      paths.push_back(path);
    }
  }
  if (inputs > 1) co_return Error{Errc::Invalid, "standard input can be added once"};
  CO_TRY_ASSIGN(SourceWalk walk, SourceWalk::open(paths));
  std::int64_t last = 0;
  while (true) {
    SourceWalk* walking = &walk;
    auto next_one = [walking] { return walking->next(); };
    CO_TRY_ASSIGN(std::optional<SourceFile> source,
                  co_await queue::offload(command_.loop, pool_, std::move(next_one)));
    if (!source) break;
    last = source->index + 1;
    CO_TRY(co_await send(*std::move(source)));
  }
  skipped_ += walk.skipped();
  if (inputs == 1) CO_TRY(co_await send_standard_input(last));
  co_return Result<>();
}

net::Task<Result<>> Uploader::send_standard_input(std::int64_t index) {
  auto drain = [] { return drain_standard_input(); };
  CO_TRY_ASSIGN(const std::string path,
                co_await queue::offload(command_.loop, pool_, std::move(drain)));
  SourceFile source{path, order_.name.empty() ? "stdin" : order_.name, index};
  Result<> sent = co_await send(std::move(source));
  if (sent.ok()) sent = co_await flush();
  ::unlink(path.c_str());
  co_return sent;
}

net::Task<Result<bool>> Uploader::is_known(SourceFile source) {
  auto hash = [path = source.path] { return sha256_of_file(path); };
  CO_TRY_ASSIGN(const std::string sha256,
                co_await queue::offload(command_.loop, pool_, std::move(hash)));
  std::string target = "/api/v1/collections";
  net::append_segment(target, order_.collection);
  target += "/known";
  net::append_query(target, "filename", source.name);
  net::append_query(target, "sha256", sha256);
  CO_TRY_ASSIGN(const json::value answer, co_await call(door_, net::get_request(target)));
  co_return answer.as_object().at("known").as_bool();
}

net::Task<Result<>> Uploader::send(SourceFile source) {
  if (order_.skip_existing) {
    CO_TRY_ASSIGN(const bool known, co_await is_known(source));
    if (known) {
      ++skipped_;
      co_return Result<>();
    }
  }
  struct Read {
    std::int64_t size = 0;
    std::string bytes;
  };
  auto read = [path = source.path]() -> Result<Read> {
    TRY_ASSIGN(const io::FileReader file, io::FileReader::open(path));
    Read read{file.size_bytes(), {}};
    if (read.size > kSmallFileBytesMax) return read;
    TRY_ASSIGN(read.bytes, read_piece(file, 0, static_cast<std::size_t>(read.size)));
    return read;
  };
  Result<Read> got = co_await queue::offload(command_.loop, pool_, std::move(read));
  if (!got.ok()) {
    // One file that cannot be read must not keep the others out; it is not lost silently either.
    complain("quern: " + got.error().message());
    ++skipped_;
    co_return Result<>();
  }
  if (got->size > kSmallFileBytesMax) co_return co_await send_large(std::move(source), got->size);
  co_return co_await add_to_batch(std::move(source), std::move(got->bytes));
}

net::Task<Result<>> Uploader::add_to_batch(SourceFile source, std::string bytes) {
  if (batch_files_ == kBatchFilesMax || batch_.size() + bytes.size() > kBatchBytesMax) {
    CO_TRY(co_await flush());
  }
  json::object line{{"index", source.index},
                    {"filename", source.name},
                    {"bytes", bytes.size()},
                    {"options", json::parse(options_json())}};
  batch_ += json::serialize(line);
  batch_ += '\n';
  batch_ += bytes;
  ++batch_files_;
  co_return Result<>();
}

Error Uploader::explain(const Error& error) const {
  if (error.kind() != Errc::Conflict) return error;
  return Error{
      Errc::Conflict,
      fmt::format("{}. The files have changed since job {} was interrupted: finish it as it "
                  "is with 'quern cancel {}', then add them again",
                  error.message(), job_, job_)};
}

net::Task<Result<>> Uploader::flush() {
  if (batch_files_ == 0) co_return Result<>();
  batch_files_ = 0;
  net::Request request = net::post_request(fmt::format("/api/v1/jobs/{}/files", job_),
                                           std::exchange(batch_, {}), "application/octet-stream");
  request.repeat = net::Repeat::Always;
  const Result<json::value> added = co_await call(door_, std::move(request));
  if (!added.ok()) co_return explain(added.error());
  co_return Result<>();
}

net::Task<Result<std::string>> Uploader::begin_upload(SourceFile source, std::int64_t bytes) {
  model::TusMetadata metadata{{"filename", source.name},
                              {"collection", order_.collection},
                              {"job", std::to_string(job_)},
                              {"index", std::to_string(source.index)},
                              {"language", order_.language}};
  if (order_.ocr) metadata["ocr"] = "true";
  if (order_.split_by_page) metadata["split_by_page"] = "true";
  if (!order_.metadata.empty()) metadata["metadata"] = order_.metadata;
  net::Request request = net::post_request("/api/v1/uploads", "", "application/octet-stream");
  request.headers.set("Tus-Resumable", model::kTusVersion);
  request.headers.set("Upload-Length", std::to_string(bytes));
  request.headers.set("Upload-Metadata", model::format_tus_metadata(metadata));
  request.repeat = net::Repeat::Always;
  CO_TRY_ASSIGN(const net::Response answer, co_await door_.call(std::move(request)));
  const std::string* location = answer.headers.find("Location");
  if (answer.status == 201 && location != nullptr) co_return *location;
  const Result<json::value> problem = parse_answer(answer);
  if (!problem.ok()) co_return explain(problem.error());
  co_return Error{Errc::Internal, "the server did not say where to send the file"};
}

net::Task<Result<std::int64_t>> Uploader::offset_of(std::string address) {
  net::Request request = net::get_request(address);
  request.method = net::Method::Head;
  request.headers.set("Tus-Resumable", model::kTusVersion);
  CO_TRY_ASSIGN(const net::Response answer, co_await door_.call(std::move(request)));
  const std::string* offset = answer.headers.find("Upload-Offset");
  if (answer.status >= 300 || offset == nullptr) {
    co_return Error{Errc::Missing, "the upload is gone: give the command again"};
  }
  co_return model::parse_tus_number("Upload-Offset", *offset);
}

net::Task<Result<>> Uploader::send_large(SourceFile source, std::int64_t bytes) {
  CO_TRY(co_await flush());  // in order, so that a job's files appear in order
  CO_TRY_ASSIGN(const std::string address, co_await begin_upload(source, bytes));
  CO_TRY_ASSIGN(std::int64_t offset, co_await offset_of(address));
  auto open = [path = source.path] { return io::FileReader::open(path); };
  CO_TRY_ASSIGN(const io::FileReader file,
                co_await queue::offload(command_.loop, pool_, std::move(open)));
  const io::FileReader* reader = &file;
  while (offset < bytes) {
    const auto wanted = static_cast<std::size_t>(
        std::min<std::int64_t>(bytes - offset, static_cast<std::int64_t>(kPieceBytes)));
    auto read = [reader, offset, wanted] { return read_piece(*reader, offset, wanted); };
    CO_TRY_ASSIGN(std::string piece,
                  co_await queue::offload(command_.loop, pool_, std::move(read)));
    if (piece.size() < wanted) {
      co_return Error{Errc::Invalid,
                      fmt::format("{} became shorter while it was read", source.path.string())};
    }
    net::Request request =
        net::post_request(address, std::move(piece), "application/offset+octet-stream");
    request.method = net::Method::Patch;
    request.headers.set("Tus-Resumable", model::kTusVersion);
    request.headers.set("Upload-Offset", std::to_string(offset));
    CO_TRY_ASSIGN(const net::Response answer, co_await door_.call(std::move(request)));
    // A repeated piece finds that it has arrived: the offset tells.
    if (answer.status != 204 && answer.status != 409 && answer.status != 423) {
      CO_TRY(parse_answer(answer));
    }
    CO_TRY_ASSIGN(offset, co_await offset_of(address));
  }
  co_return Result<>();
}

}  // namespace quern::app
