#include "app/prove_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <system_error>
#include <vector>

#include "app/output.h"
#include "base/crash.h"
#include "io/file.h"
#include "io/process.h"

namespace quern::app {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRunPatience{3'600'000};
constexpr std::size_t kOutputBytesMax = 1024 * 1024 * 1024;
constexpr int kStartsMax = 20;  // of one import; it is killed once
constexpr std::size_t kFailuresMax = 20;
constexpr std::size_t kQuotedBytesMax = 300;
constexpr char kCollection[] = "proof";

// A folder of our own that goes when we do.
class Scratch {
 public:
  static Result<Scratch> make() {
    std::error_code failed;
    std::string name = (fs::temp_directory_path(failed) / "quern-prove.XXXXXX").string();
    if (failed || ::mkdtemp(name.data()) == nullptr) {
      return Error{Errc::Unavailable, "no temporary folder can be made"};
    }
    return Scratch(fs::path(name));
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Scratch(Scratch&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Scratch& operator=(Scratch&&) = delete;

  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  explicit Scratch(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

using Environment = std::vector<std::pair<std::string, std::optional<std::string>>>;

// One import and what is asked of it, in a data folder of its own.
class World {
 public:
  static Result<World> make(const fs::path& program, const std::string& source) {
    TRY_ASSIGN(Scratch scratch, Scratch::make());
    return World(std::move(scratch), program, source);
  }

  // Again after each death. Whether it died as ordered.
  Result<bool> import(const std::string& crash_order) {
    bool died = false;
    for (int start = 0; start < kStartsMax; ++start) {
      Environment armed{{kCrashLogVariable, (scratch_ / "crash.log").string()}};
      if (!crash_order.empty()) armed.emplace_back(kCrashVariable, crash_order);
      TRY_ASSIGN(const io::ExitStatus status,
                 run({"add", "--json", "--key", "proof", "--collection", kCollection, source_},
                     start == 0 ? armed : Environment{}));
      if (status.killed_by(SIGKILL)) {
        died = true;
        continue;
      }
      if (status.exited_with(0)) return died;
      return Error{Errc::Internal, fmt::format("quern add ended with {}", status.text())};
    }
    return Error{Errc::Internal, "the import dies again and again"};
  }

  // Everything that two equal imports share.
  Result<std::string> outcome() {
    std::string all;
    for (const char* list : {"documents", "errors", "files"}) {
      TRY_ASSIGN(const io::ExitStatus status,
                 run({list, "--json", "--no-ids", "--collection", kCollection}, {}));
      if (!status.exited_with(0)) {
        return Error{Errc::Internal, fmt::format("quern {} ended with {}", list, status.text())};
      }
      TRY_ASSIGN(const std::string text, io::read_file(scratch_ / "out", kOutputBytesMax));
      all += fmt::format("{}\n{}", list, text);
    }
    TRY_ASSIGN(const io::ExitStatus checked, run({"check"}, {}));
    TRY_ASSIGN(const std::string said, io::read_file(scratch_ / "out", kOutputBytesMax));
    return all + fmt::format("check: {}\n{}", checked.text(), said);
  }

  Result<std::string> crash_log() { return io::read_file(scratch_ / "crash.log", kOutputBytesMax); }

 private:
  World(Scratch scratch, fs::path program, std::string source)
      : scratch_(std::move(scratch)), program_(std::move(program)), source_(std::move(source)) {}

  Result<io::ExitStatus> run(std::vector<std::string> arguments, const Environment& more) {
    std::error_code ignored;
    fs::remove(scratch_ / "out", ignored);
    io::ProcessOptions options;
    options.argv = {program_.string(), "--data", (scratch_ / "data").string(), "--log-level",
                    "error"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    // Only this folder and its own database, whatever the user has set.
    for (const char* name : {"QUERN_DB", "QUERN_SERVER", "QUERN_CONFIG", "QUERN_BLOBS"}) {
      options.environment.emplace_back(name, std::nullopt);
    }
    options.environment.insert(options.environment.end(), more.begin(), more.end());
    options.out = io::Stream::at(scratch_ / "out");
    options.err = io::Stream::at(scratch_ / "err");
    TRY_ASSIGN(io::Process process, io::Process::start(options));
    return process.wait(kRunPatience);
  }

  Scratch scratch_;
  fs::path program_;
  std::string source_;
};

// "write 17 commit …" of the calm run's log.
std::map<std::int64_t, std::string> writes_of(std::string_view log) {
  std::map<std::int64_t, std::string> writes;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    if (!line.starts_with("write ")) continue;
    const std::string text(line.substr(6));
    char* end = nullptr;
    const std::int64_t number = std::strtoll(text.c_str(), &end, 10);
    if (number > 0) writes[number] = *end == ' ' ? end + 1 : end;
  }
  return writes;
}

std::string first_difference(std::string_view calm, std::string_view now) {
  while (true) {
    const std::string_view a = calm.substr(0, calm.find('\n'));
    const std::string_view b = now.substr(0, now.find('\n'));
    if (a != b) {
      return fmt::format("calmly \"{}\", now \"{}\"", a.substr(0, kQuotedBytesMax),
                         b.substr(0, kQuotedBytesMax));
    }
    if (calm.size() == a.size() && now.size() == b.size()) return "nothing";
    calm.remove_prefix(std::min(a.size() + 1, calm.size()));
    now.remove_prefix(std::min(b.size() + 1, now.size()));
  }
}

// Evenly spread; and in an order in which any beginning is evenly spread too, should time run out.
std::vector<std::int64_t> instants(std::int64_t writes, std::int64_t most) {
  const std::int64_t count = std::min(writes, most);
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < count; ++i) chosen.push_back(1 + i * writes / count);
  std::vector<std::int64_t> ordered;
  std::int64_t stride = 1;
  while (stride < count) stride *= 2;
  std::vector<bool> taken(chosen.size(), false);
  for (; stride >= 1; stride /= 2) {
    for (std::int64_t i = 0; i < count; i += stride) {
      const auto at = static_cast<std::size_t>(i);
      if (!taken[at]) ordered.push_back(chosen[at]);
      taken[at] = true;
    }
  }
  return ordered;
}

struct Report {
  std::int64_t writes = 0;
  std::int64_t tried = 0;
  std::int64_t died = 0;
  bool out_of_time = false;
  std::vector<std::string> failures;
};

class Proof {
 public:
  Proof(const ProveOrder& order, fs::path program) : order_(order), program_(std::move(program)) {}

  Result<Report> run() {
    begun_ = Clock::now();
    TRY_ASSIGN(World calm, World::make(program_, order_.path));
    TRY(calm.import(""));
    TRY_ASSIGN(calm_, calm.outcome());
    if (calm_.find("check: exit 0\n") == calm_.npos) {
      return Error{Errc::Corrupt,
                   "the calm run is not clean: " + calm_.substr(calm_.rfind("check:"))};
    }
    TRY_ASSIGN(const std::string log, calm.crash_log());
    writes_ = writes_of(log);
    report_.writes = static_cast<std::int64_t>(writes_.size());
    for (const std::int64_t write : instants(report_.writes, order_.writes_max)) {
      if (is_late() || report_.failures.size() >= kFailuresMax) break;
      TRY(kill_at(write));
      show(write);
    }
    return report_;
  }

 private:
  bool is_late() {
    if (!order_.minutes) return false;
    report_.out_of_time =
        Clock::now() - begun_ > std::chrono::duration<double>(*order_.minutes * 60);
    return report_.out_of_time;
  }

  Result<> kill_at(std::int64_t write) {
    TRY_ASSIGN(World world, World::make(program_, order_.path));
    ++report_.tried;
    const std::string where = fmt::format("before write {} ({})", write, writes_[write]);
    const Result<bool> died = world.import(fmt::format("write:{}:before", write));
    if (!died.ok()) {
      report_.failures.push_back(where + ": " + died.error().message());
      return {};
    }
    report_.died += *died ? 1 : 0;
    const Result<std::string> now = world.outcome();
    if (!now.ok()) {
      report_.failures.push_back(where + ": " + now.error().message());
    } else if (*now != calm_) {
      report_.failures.push_back(where + ": " + first_difference(calm_, *now));
    }
    return {};
  }

  void show(std::int64_t write) const {
    if (::isatty(STDERR_FILENO) != 1) return;
    const std::string line =
        fmt::format("\r\033[K{} of {} durable writes (just now: {}), {} differences", report_.tried,
                    std::min(report_.writes, order_.writes_max), write, report_.failures.size());
    (void)!::write(STDERR_FILENO, line.data(), line.size());
  }

  ProveOrder order_;
  fs::path program_;
  Clock::time_point begun_;
  std::string calm_;
  std::map<std::int64_t, std::string> writes_;
  Report report_;
};

Result<> tell(const Command& command, const Report& report) {
  const bool equal = report.failures.empty();
  const double coverage =
      report.writes == 0 ? 0 : static_cast<double>(report.tried) / report.writes;
  if (command.format == OutputFormat::Json) {
    const json::object line{
        {"equal", equal},
        {"writes", report.writes},
        {"kills", report.tried},
        {"died", report.died},
        {"coverage", coverage},
        {"out_of_time", report.out_of_time},
        {"differences", json::array(report.failures.begin(), report.failures.end())}};
    return print_line(json::serialize(line));
  }
  for (const std::string& failure : report.failures) TRY(print_line(failure));
  TRY(print_line(fmt::format("the calm import made {} durable writes", report.writes)));
  const std::string which =
      report.tried == report.writes
          ? std::string("each of them")
          : fmt::format("{} of them, evenly spread ({:.0f} %){}", report.tried, coverage * 100,
                        report.out_of_time ? ", then time was up" : "");
  TRY(print_line(fmt::format("killed before {}", which)));
  if (report.died < report.tried) {
    TRY(print_line(fmt::format("{} of these imports had less to write and lived",
                               report.tried - report.died)));
  }
  return print_line(equal ? "documents, errors and files are the same every time, and every check "
                            "is clean"
                          : fmt::format("{} runs differ", report.failures.size()));
}

}  // namespace

net::Task<Result<int>> prove(Command command, ProveOrder order) {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (failed) co_return Error{Errc::Unavailable, "our own program cannot be found"};
  if (!fs::exists(order.path, failed)) {
    co_return Error{Errc::Invalid, fmt::format("there is no '{}'", order.path)};
  }
  Proof proof(order, program);
  const Result<Report> report = proof.run();
  if (::isatty(STDERR_FILENO) == 1) complain("");
  if (!report.ok()) co_return report.error();
  CO_TRY(tell(command, *report));
  co_return report->failures.empty() ? kExitDone : kExitFoundWrong;
}

}  // namespace quern::app
