#include "support/program.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace quern::support {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
// How long output may still come after the program's end, from a child of its own that has the
// pipe.
constexpr std::chrono::milliseconds kLastWordsMax{2'000};
constexpr std::size_t kQuotedBytesMax = 2'000;

std::string last_words(const std::string& text) {
  return text.size() <= kQuotedBytesMax ? text : text.substr(text.size() - kQuotedBytesMax);
}

}  // namespace

std::filesystem::path program_path(const std::filesystem::path& name) {
  if (name.has_parent_path()) return name;
  return std::filesystem::path(QUERN_BIN) / name;
}

Result<std::unique_ptr<Program>> Program::start(const ProgramOptions& options) {
  io::ProcessOptions process;
  process.argv = options.arguments;
  process.argv.insert(process.argv.begin(), program_path(options.program).native());
  process.environment = options.environment;
  process.folder = options.folder;
  process.out = io::Stream::pipe();
  process.err = io::Stream::pipe();
  TRY_ASSIGN(io::Pipe stop, io::make_pipe());
  TRY_ASSIGN(io::Process started, io::Process::start(process));
  return std::unique_ptr<Program>(new Program(options, std::move(started), std::move(stop)));
}

Program::Program(ProgramOptions options, io::Process process, io::Pipe stop)
    : options_(std::move(options)), process_(std::move(process)), stop_(std::move(stop)) {
  standard_.pipe = std::move(process_.output());
  error_.pipe = std::move(process_.errors());
  reader_ = std::thread(&Program::read_output, this);
}

Program::~Program() {
  kill();
  stop_.write_end.close();
  reader_.join();
}

void Program::read_output() {
  while (standard_.is_open || error_.is_open) {
    pollfd wanted[] = {{standard_.is_open ? standard_.pipe.get() : -1, POLLIN, 0},
                       {error_.is_open ? error_.pipe.get() : -1, POLLIN, 0},
                       {stop_.read_end.get(), POLLIN, 0}};
    if (::poll(wanted, 3, -1) < 0) {
      CHECK(errno == EINTR);
      continue;
    }
    const bool got_standard = wanted[0].revents != 0 && read_some(standard_);
    const bool got_error = wanted[1].revents != 0 && read_some(error_);
    if (wanted[2].revents != 0 && !got_standard && !got_error) return;
  }
}

// False where there was nothing but the end.
bool Program::read_some(Captured& captured) {
  std::string bytes(kReadBytes, '\0');
  const ssize_t got = ::read(captured.pipe.get(), bytes.data(), bytes.size());
  const std::scoped_lock lock(mutex_);
  if (got > 0) {
    const std::size_t room = kCaptureBytesMax - captured.text.size();
    captured.text.append(bytes, 0, std::min(room, static_cast<std::size_t>(got)));
  } else if (got == 0 || errno != EINTR) {
    captured.is_open = false;
  }
  changed_.notify_all();
  return got > 0;
}

std::optional<std::string> Program::find_line(Output from, std::string_view text) {
  const std::string& all = captured(from).text;
  const std::size_t at = all.find(text);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t end = all.find('\n', at);
  if (end == std::string::npos) return std::nullopt;
  const std::size_t before = at == 0 ? std::string::npos : all.rfind('\n', at - 1);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return all.substr(begin, end - begin);
}

Result<std::string> Program::wait_for_line(Output from, std::string_view text,
                                           std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  std::optional<std::string> line;
  const auto is_over = [&] {
    line = find_line(from, text);
    return line.has_value() || !captured(from).is_open;
  };
  const bool in_time = changed_.wait_for(lock, longest, is_over);
  if (line) return *line;
  // The other stream may still hold its last words.
  if (in_time) wait_for_last_words(lock);
  return Error{in_time ? Errc::Unavailable : Errc::Timeout,
               fmt::format("{} {} a line with \"{}\"; it said: {}", options_.program.native(),
                           in_time ? "ended without" : "did not print in time", text,
                           last_words(error_.text + standard_.text))};
}

Result<io::ExitStatus> Program::wait(std::chrono::milliseconds longest) {
  TRY_ASSIGN(const io::ExitStatus status, process_.wait(longest));
  std::unique_lock lock(mutex_);
  wait_for_last_words(lock);
  return status;
}

void Program::wait_for_last_words(std::unique_lock<std::mutex>& lock) {
  changed_.wait_for(lock, kLastWordsMax, [&] { return !standard_.is_open && !error_.is_open; });
}

bool Program::has_ended() {
  return process_.wait(std::chrono::milliseconds(0)).ok();
}

void Program::kill() {
  CHECK_OK(process_.kill(SIGKILL));
  CHECK_OK(process_.wait(kProgramPatience));
}

Result<std::unique_ptr<Program>> Program::restart() {
  kill();
  return start(options_);
}

std::string Program::text(Output from) const {
  const std::scoped_lock lock(mutex_);
  return from == Output::Standard ? standard_.text : error_.text;
}

Result<Ran> run_program(const ProgramOptions& options, std::chrono::milliseconds longest) {
  TRY_ASSIGN(const std::unique_ptr<Program> program, Program::start(options));
  TRY_ASSIGN(const io::ExitStatus status, program->wait(longest));
  return Ran{status, program->text(Output::Standard), program->text(Output::Error)};
}

}  // namespace quern::support
