#include "resumes/effects.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

namespace resumes {
namespace {

using quern::Errc;
using quern::Error;
using quern::Result;

constexpr std::int64_t kClassify = 0;
constexpr char kViolation[] = "VIOLATION";

Error file_error(std::string_view doing) {
  return Error{Errc::Unavailable,
               fmt::format("{} the file of effects: {}", doing, std::strerror(errno))};
}

Result<std::string> read_all(int file) {
  std::string text;
  char buffer[64 * 1024];
  for (;;) {
    const ssize_t bytes = ::read(file, buffer, sizeof buffer);
    if (bytes < 0) return file_error("reading");
    if (bytes == 0) return text;
    text.append(buffer, static_cast<std::size_t>(bytes));
  }
}

}  // namespace

std::string partition_of(const std::string& key) {
  return key.substr(0, key.find('/'));
}

Result<Effects> Effects::open(const std::string& path) {
  quern::io::Descriptor file(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open()) return file_error("opening");
  Effects effects(std::move(file));
  TRY(effects.load());
  return effects;
}

Result<> Effects::load() {
  TRY_ASSIGN(const std::string text, read_all(file_.get()));
  const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  if (::ftruncate(file_.get(), static_cast<off_t>(whole)) != 0) return file_error("mending");
  std::istringstream lines(text.substr(0, whole));
  for (std::string line; std::getline(lines, line);) take_line(line);
  return {};
}

void Effects::take_line(const std::string& line) {
  std::istringstream words(line);
  Effect effect;
  if (line.starts_with(kViolation)) {
    std::string word;
    if (words >> word >> effect.key) violations_.insert(effect.key);
  } else if (words >> effect.key >> effect.item >> effect.gate >> effect.result) {
    remember(effect);
  }
}

void Effects::remember(const Effect& effect) {
  if (effect.gate == kClassify) scores_[partition_of(effect.key)][effect.item] = effect.result;
  by_key_[effect.key] = effect;
}

std::optional<Effect> Effects::find(const std::string& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? std::nullopt : std::optional(found->second);
}

Result<> Effects::append(const std::string& line) {
  const ssize_t written = ::write(file_.get(), line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) return file_error("writing");
  if (::fdatasync(file_.get()) != 0) return file_error("syncing");
  return {};
}

Result<> Effects::record(const Effect& effect) {
  if (by_key_.contains(effect.key)) return {};
  TRY(append(fmt::format("{} {} {} {}\n", effect.key, effect.item, effect.gate, effect.result)));
  remember(effect);
  return {};
}

Result<> Effects::record_violation(const Effect& call) {
  if (!violations_.insert(call.key).second) return {};
  return append(fmt::format("{} {} {} {}\n", kViolation, call.key, call.item, call.gate));
}

const std::map<std::string, std::int64_t>& Effects::scores(const std::string& partition) {
  return scores_[partition];
}

}  // namespace resumes
