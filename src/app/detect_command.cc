// quern detect: the worker program looks (in its box), we say what follows.
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>

#include "app/output.h"
#include "app/read_command.h"
#include "app/read_text.h"
#include "app/supervisor.h"
#include "io/process.h"
#include "model/steps.h"

namespace quern::app {
namespace {

namespace json = boost::json;

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kOutputBytesMax = 256 * 1024 * 1024;
constexpr std::chrono::milliseconds kPatience{60'000};

Result<std::string> read_to_end(const io::Descriptor& from) {
  std::string text;
  std::string buffer(kReadBytes, '\0');
  while (text.size() < kOutputBytesMax) {
    const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{Errc::Unavailable, "the worker's answer cannot be read"};
    if (got == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// A line is {"path","type"}; the step is ours to say.
Result<> tell(const Command& command, const json::object& seen) {
  const std::string type = text_in(seen, "type");
  const auto step = model::step_for_type(type, model::Ocr::No);
  const std::string name = step ? std::string(model::to_string(*step)) : "";
  if (command.format == OutputFormat::Json) {
    json::object line{{"path", text_in(seen, "path")}, {"type", type}};
    line["step"] = name.empty() ? json::value() : json::value(name);
    return print_line(json::serialize(line));
  }
  return print_line(fmt::format("{:<48}  {:<40}  {}", printable(text_in(seen, "path")), type,
                                name.empty() ? "nobody takes it" : name));
}

Result<int> run(const Command& command, const std::vector<std::string>& paths) {
  const std::filesystem::path program = find_steps_program(command.config.steps_program);
  if (program.empty()) return Error{Errc::Missing, "the program quern-steps is not installed"};
  io::ProcessOptions options;
  options.argv = {program.string(), "--quiet", "--detect"};
  options.argv.insert(options.argv.end(), paths.begin(), paths.end());
  options.out = io::Stream::pipe();
  TRY_ASSIGN(io::Process process, io::Process::start(options));
  TRY_ASSIGN(const std::string text, read_to_end(process.output()));
  TRY_ASSIGN(const io::ExitStatus status, process.wait(kPatience));
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    boost::system::error_code failed;
    const json::value seen = json::parse(line, failed);
    if (!failed && seen.is_object()) TRY(tell(command, seen.get_object()));
  }
  return status.exited_with(0) ? kExitDone : kExitUnfinished;
}

}  // namespace

net::Task<Result<int>> detect(Command command, std::vector<std::string> paths) {
  co_return run(command, paths);
}

}  // namespace quern::app
