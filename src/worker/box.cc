#include "worker/box.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/log.h"
#include "base/utf8.h"
#include "io/pidfd.h"
#include "io/system_error.h"
#include "worker/child_usage.h"
#include "worker/scratch_file.h"
#include "worker/zygote.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr int kOutputPipeBytes = 1024 * 1024;
// From the end of a child's output to the word of its zygote.
constexpr std::int64_t kEndMs = 10'000;

// Nothing of ours: what stands in our environment may be secret, and the child could read it.
std::vector<std::pair<std::string, std::optional<std::string>>> empty_environment() {
  std::vector<std::pair<std::string, std::optional<std::string>>> changes;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    changes.emplace_back(text.substr(0, text.find('=')), std::nullopt);
  }
  changes.emplace_back("LC_ALL", "C.UTF-8");
  changes.emplace_back("TZ", "UTC");
  return changes;
}

Result<io::Process> start_zygote(const BoxOptions& options, int channel) {
  io::ProcessOptions process;
  process.argv = {options.program, "--box", options.step};
  process.environment = empty_environment();
  process.out = io::Stream::null();
  process.descriptors = {{channel, kZygoteChannel}};
  process.group = io::ProcessGroup::Own;
  return io::Process::start(process);
}

RunOrder order_of(const Limits& limits, const BoxTask& task) {
  RunOrder order;
  order.memory_bytes = limits.memory_bytes;
  order.scratch_bytes = limits.scratch_bytes;
  order.open_files = limits.open_files;
  order.cpu_s = static_cast<std::uint64_t>(limits.wall_ms_for(task.input_bytes) / 1000 + 1);
  order.members = limits.members;
  order.ratio = limits.ratio;
  order.ratio_from_bytes = limits.ratio_from_bytes;
  order.text_characters = limits.text_characters;
  order.text_pages = limits.text_pages;
  order.job = task.job;
  CHECK(task.boundary.size() < sizeof order.boundary);
  std::memcpy(order.boundary, task.boundary.data(), task.boundary.size());
  return order;
}

// What lies in a pipe by now.
std::string read_pipe(int descriptor, std::size_t bytes_max) {
  std::string text(bytes_max, '\0');
  std::size_t got = 0;
  while (got < bytes_max) {
    const ssize_t n = ::read(descriptor, text.data() + got, bytes_max - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  text.resize(got);
  return text;
}

std::optional<Failure> failure_of_signal(int signal) {
  switch (signal) {
    case SIGXCPU:
      return Failure{ErrorKind::Timeout, "it used more CPU time than it may"};
    case SIGXFSZ:
      return Failure{ErrorKind::TooLarge, "it wrote a larger file than it may"};
    case SIGKILL:
      return Failure{ErrorKind::OutOfMemory, "the system killed it, most likely for its memory"};
    default:
      return Failure{ErrorKind::Crash,
                     fmt::format("it died of signal {} ({})", signal, ::strsignal(signal))};
  }
}

// Nothing where it ended as it should.
std::optional<Failure> failure_of_status(int status) {
  if (WIFSIGNALED(status)) return failure_of_signal(WTERMSIG(status));
  switch (WEXITSTATUS(status)) {
    case 0:
      return std::nullopt;
    case kExitOutOfMemory:
      return Failure{ErrorKind::OutOfMemory, "it needs more memory than it may have"};
    default:
      return Failure{ErrorKind::Crash,
                     fmt::format("it ended with exit code {}", WEXITSTATUS(status))};
  }
}

}  // namespace

std::string RunCost::json() const {
  return fmt::format(R"({{"wallMs":{},"cpuMs":{},"peakKiB":{}}})", wall_ms, cpu_ms, peak_kib);
}

Box::Box(net::Loop& loop, BoxOptions options, io::Process process, io::Descriptor channel)
    : loop_(loop),
      options_(std::move(options)),
      process_(std::move(process)),
      channel_(std::move(channel)),
      readable_(loop, channel_.get()) {}

Box::~Box() {
  if (const auto run = current_.lock()) run->box_ = nullptr;
}

net::Task<Result<std::unique_ptr<Box>>> Box::start(net::Loop& loop, BoxOptions options) {
  CO_TRY_ASSIGN(ChannelPair channel, make_channel());
  CO_TRY_ASSIGN(io::Process process, start_zygote(options, channel.zygote.get()));
  channel.zygote.close();
  auto box = std::unique_ptr<Box>(
      new Box(loop, std::move(options), std::move(process), std::move(channel.broker)));
  CO_TRY(co_await box->await_ready());
  co_return box;
}

net::Task<Result<>> Box::await_ready() {
  const net::Instant deadline = net::in_ms(options_.start_ms);
  for (;;) {
    if (co_await readable_.wait(deadline) != net::WaitEnd::Notified) {
      co_return Error{Errc::Unavailable, "the box of " + options_.step + " does not start"};
    }
    auto received = receive_message(channel_.get());
    if (!received && received.error().kind() == Errc::Busy) continue;
    if (!received) co_return std::move(received).error();
    if (received->bytes.size() < sizeof(Report)) {
      co_return Error{Errc::Unavailable, "the box of " + options_.step + " ended at its start"};
    }
    CO_TRY(get_to_know(received->bytes.substr(sizeof(Report))));
    co_return Result<>{};
  }
}

std::string Box::lacks() const {
  constexpr std::string_view kMissing = R"("missing":[)";
  const std::size_t at = confinement_.find(kMissing);
  if (at == std::string::npos) return "all of it";
  std::string text = confinement_.substr(at + kMissing.size());
  text.resize(std::min(text.rfind(']'), text.size()));
  std::erase(text, '"');
  return text;
}

// Three lines, then its confinement; zygote.cc writes them.
Result<> Box::get_to_know(std::string_view text) {
  std::vector<std::string> lines;
  while (lines.size() < 3) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      return Error{Errc::Unavailable, "the box of " + options_.step + " speaks another language"};
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  about_ = {lines[0], std::atoi(lines[1].c_str()), std::atoll(lines[2].c_str())};
  confinement_ = text;
  if (about_.wall_ms_max > 0) {
    options_.limits.wall_ms = std::min(options_.limits.wall_ms, about_.wall_ms_max);
  }
  return {};
}

Result<std::shared_ptr<Run>> Box::run(const BoxTask& task) {
  if (gone_) return Error{Errc::Unavailable, "the box has gone"};
  const auto before = current_.lock();
  CHECK(!before || before->box_ == nullptr);
  TRY_ASSIGN(Run::Pipes pipes, Run::make_pipes());
  TRY_ASSIGN(const io::Descriptor json, make_memory_file(task.json));
  std::vector<int> given = {json.get(), pipes.output.write_end.get(), pipes.end.write_end.get(),
                            pipes.note.write_end.get()};
  given.insert(given.end(), task.inputs.begin(), task.inputs.end());
  const RunOrder order = order_of(options_.limits, task);
  const Result<> sent = send_message(channel_.get(), bytes_of(order), given);
  if (!sent.ok()) {
    gone_ = true;
    return Error{Errc::Unavailable, sent.error().message()};
  }
  const auto run = std::shared_ptr<Run>(new Run(*this, std::move(pipes), task.input_bytes));
  current_ = run;
  loop_.spawn("box.watch", Run::watch(run));
  return run;
}

Result<Run::Pipes> Run::make_pipes() {
  Pipes pipes;
  TRY_ASSIGN(pipes.output, io::make_pipe());
  TRY_ASSIGN(pipes.end, io::make_pipe());
  TRY_ASSIGN(pipes.note, io::make_pipe());
  ::fcntl(pipes.output.write_end.get(), F_SETPIPE_SZ, kOutputPipeBytes);
  for (const io::Descriptor* ours :
       {&pipes.output.read_end, &pipes.end.read_end, &pipes.note.read_end}) {
    ::fcntl(ours->get(), F_SETFL, O_NONBLOCK);
  }
  // A library that prints without end loses its words, and does not wait for a reader.
  ::fcntl(pipes.note.write_end.get(), F_SETFL, O_NONBLOCK);
  return pipes;
}

Run::Run(Box& box, Pipes pipes, std::uint64_t input_bytes)
    : box_(&box),
      loop_(box.loop_),
      output_(std::move(pipes.output.read_end)),
      end_(std::move(pipes.end.read_end)),
      note_(std::move(pipes.note.read_end)),
      readable_(std::make_unique<net::Readable>(box.loop_, output_.get())),
      watch_(box.options_.limits, input_bytes, std::chrono::steady_clock::now()),
      began_(std::chrono::steady_clock::now()) {}

net::Task<std::size_t> Run::read(std::span<char> buffer) {
  for (;;) {
    const ssize_t n = ::read(output_.get(), buffer.data(), buffer.size());
    if (n >= 0) {
      bytes_read_ += static_cast<std::size_t>(n);
      co_return static_cast<std::size_t>(n);
    }
    if (errno == EINTR) continue;
    CHECK(errno == EAGAIN);
    reading_ = true;
    co_await readable_->wait();
    reading_ = false;
  }
}

net::Task<> Run::watch(std::shared_ptr<Run> self) {
  while (self->box_ != nullptr) {
    co_await self->loop_.sleep_until(net::in_ms(self->box_->options_.look_ms));
    if (self->box_ != nullptr) self->look();
  }
}

void Run::look() {
  absorb();
  if (ended_) return;
  if (pid_ == 0) {
    // A kept child that never gets ready would hold up its task for ever.
    const auto waited = std::chrono::steady_clock::now() - began_;
    if (waited > std::chrono::milliseconds(box_->options_.start_ms)) {
      kill({ErrorKind::Timeout, "its box did not get ready"});
    }
    return;
  }
  const auto usage = read_child_usage(pid_);
  if (!usage) return;
  Sighting sighting{std::chrono::steady_clock::now()};
  sighting.cpu_ms = usage->cpu_ms;
  sighting.memory_bytes = usage->memory_bytes;
  sighting.output_bytes = bytes_read_;
  sighting.output_is_wanted = reading_;
  if (auto beyond = watch_.look(sighting)) kill(*std::move(beyond));
}

void Run::kill(Failure why) {
  if (box_ == nullptr) return;
  if (!killed_for_) killed_for_ = std::move(why);
  absorb();
  if (ended_) return;
  const bool sent = pidfd_.is_open() && io::send_signal(pidfd_, SIGKILL).ok();
  // Not even forked, or not to be reached: all of it goes.
  if (!sent) kill_zygote();
}

void Run::kill_zygote() {
  box_->gone_ = true;
  const Result<> killed = box_->process_.kill(SIGKILL);
  if (!killed.ok()) log_error("box.kill", {{"error", killed.error().message()}});
}

void Run::absorb() {
  while (!ended_ && !box_->gone_) {
    auto received = receive_message(box_->channel_.get());
    if (!received && received.error().kind() == Errc::Busy) break;
    if (!received || received->bytes.size() != sizeof(Report)) {
      box_->gone_ = true;
      break;
    }
    take(*received);
  }
  if (pid_ == 0 || ended_ || pidfd_.is_open()) return;
  auto pidfd = io::open_pidfd(pid_);
  if (pidfd) pidfd_ = *std::move(pidfd);
}

void Run::take(const Received& received) {
  Report report;
  std::memcpy(&report, received.bytes.data(), sizeof report);
  if (report.kind == Report::Kind::Started) pid_ = received.sender;
  if (report.kind == Report::Kind::Ended) ended_ = report;
}

net::Task<RunEnd> Run::finish() {
  CHECK(box_ != nullptr);
  net::Instant deadline = net::in_ms(kEndMs);
  for (absorb(); !ended_ && !box_->gone_; absorb()) {
    const bool told = co_await box_->readable_.wait(deadline) == net::WaitEnd::Notified;
    if (told || net::in_ms(0) < deadline) continue;
    // It has closed its output and goes on: nobody waits for that, and at last not for its zygote.
    if (killed_for_) kill_zygote();
    Failure late{ErrorKind::Timeout, "it does not end"};
    kill(std::move(late));
    deadline = net::in_ms(kEndMs);
  }
  box_ = nullptr;
  RunEnd end = judge(read_pipe(end_.get(), kEndBytesMax), read_pipe(note_.get(), kNoteBytesMax));
  close();
  co_return end;
}

// The object itself lives until its watch has noticed: of many short runs, that would be too many
// descriptors.
void Run::close() {
  readable_.reset();
  for (io::Descriptor* descriptor : {&output_, &end_, &note_, &pidfd_}) descriptor->close();
}

RunEnd Run::judge(std::string end_text, std::string note) const {
  RunEnd end;
  end.note = valid_utf8(note);
  const auto wall = std::chrono::steady_clock::now() - began_;
  end.cost.wall_ms = std::chrono::duration_cast<std::chrono::milliseconds>(wall).count();
  if (ended_) {
    end.cost.cpu_ms = ended_->cpu_us / 1000;
    end.cost.peak_kib = ended_->peak_kib;
  }
  end.failure = killed_for_;
  if (!end.failure && !ended_) end.failure = Failure{ErrorKind::Crash, "the box died"};
  if (!end.failure) end.failure = failure_of_status(ended_->wait_status);
  if (end.failure) {
    end.seen_by_box = true;
    return end;
  }
  const auto said = parse_end(end_text);
  end.seen_by_box = !said.ok();
  end.failure = said ? *said : Failure{ErrorKind::Protocol, said.error().message()};
  return end;
}

}  // namespace quern::worker
