#include "app/job_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cmath>

#include "app/ask.h"
#include "app/output.h"

namespace quern::app {
namespace {

namespace json = boost::json;

constexpr std::int64_t kFirstLookMs = 20;
constexpr std::int64_t kLookMsMax = 250;
constexpr double kWindowSeconds = 30;  // what lies further back says little of what comes
constexpr double kSeenSeconds = 2;     // less is no basis for a guess
constexpr int kBarCells = 24;

std::string plural(std::int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string bar_line(const json::object& job, const Estimate& estimate) {
  const double progress = job.at("progress").to_number<double>();
  const int full = static_cast<int>(progress * kBarCells);
  std::string line = fmt::format("[{}{}] {:3.0f} %  {}, {}, {}", std::string(full, '#'),
                                 std::string(kBarCells - full, '.'), std::floor(progress * 100),
                                 plural(job.at("files").as_int64(), "file", "files"),
                                 plural(job.at("documents").as_int64(), "document", "documents"),
                                 plural(job.at("errors").as_int64(), "error", "errors"));
  if (estimate.rate() >= 0) line += fmt::format(", {:.0f} files/s", estimate.rate());
  if (estimate.left() >= 0) line += fmt::format(", about {} left", duration_text(estimate.left()));
  return line;
}

void draw(const std::string& line) {
  const std::string text = "\r\033[K" + line;
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

void Estimate::note(double at, double progress, std::int64_t files) {
  seen_.push_back({at, progress, files});
  std::erase_if(seen_, [at](const Seen& seen) { return at - seen.at > kWindowSeconds; });
}

double Estimate::rate() const {
  if (seen_.empty() || seen_.back().at - seen_.front().at < kSeenSeconds) return -1;
  return static_cast<double>(seen_.back().files - seen_.front().files) /
         (seen_.back().at - seen_.front().at);
}

double Estimate::left() const {
  if (seen_.empty() || seen_.back().at - seen_.front().at < kSeenSeconds) return -1;
  const double done = seen_.back().progress - seen_.front().progress;
  // It stands still: nobody knows.
  if (done <= 0) return -1;
  return (1 - seen_.back().progress) * (seen_.back().at - seen_.front().at) / done;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 90) return fmt::format("{} s", whole);
  const std::int64_t minutes = (whole + 59) / 60;
  if (minutes < 90) return fmt::format("{} min", minutes);
  if (minutes < 48 * 60) return fmt::format("{} h {} min", minutes / 60, minutes % 60);
  return fmt::format("{} days", minutes / (24 * 60));
}

std::string describe_end(const json::object& job) {
  std::string text =
      fmt::format("{}, {} from {}", plural(job.at("documents").as_int64(), "document", "documents"),
                  plural(job.at("errors").as_int64(), "error", "errors"),
                  plural(job.at("roots").as_int64(), "file", "files"));
  if (job.at("skipped").as_int64() > 0) {
    text += fmt::format(", {} skipped", job.at("skipped").as_int64());
  }
  if (job.contains("seconds")) {
    text += fmt::format(" in {:.1f} s", job.at("seconds").to_number<double>());
  }
  if (job.at("state").as_string() == "canceled") text += ", canceled";
  if (job.at("errors").as_int64() > 0) {
    text += fmt::format("\nWhy: quern errors --collection {} --job {}",
                        std::string(job.at("collection").as_string()), job.at("job").as_int64());
  }
  return text;
}

net::Task<Result<json::object>> watch_job(Command command, Door& door, std::int64_t id) {
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const std::string address = fmt::format("/api/v1/jobs/{}", id);
  Estimate estimate;
  const net::Instant begun = net::in_ms(0);
  std::int64_t pause_ms = kFirstLookMs;
  while (true) {
    CO_TRY_ASSIGN(const json::value answer, co_await call(door, net::get_request(address)));
    const json::object& job = answer.as_object();
    const bool ended = job.at("state").as_string() != "running";
    if (terminal) {
      const std::chrono::duration<double> at = net::in_ms(0) - begun;
      estimate.note(at.count(), job.at("progress").to_number<double>(),
                    job.at("files_done").as_int64());
      draw(ended ? "" : bar_line(job, estimate));
    }
    if (ended) co_return job;
    co_await command.loop.sleep_until(net::in_ms(pause_ms));
    pause_ms = std::min(pause_ms * 2, kLookMsMax);
  }
}

}  // namespace quern::app
