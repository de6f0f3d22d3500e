// Watching a job until it has ended: a bar on a terminal's standard error, with a rate and an
// honest estimate of the time left.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "app/command.h"

namespace quern::app {

// The job as the server last told it.
net::Task<Result<boost::json::object>> watch_job(Command command, Door& door, std::int64_t job);
// "12 documents, 1 error (quern errors --job 3)".
std::string describe_end(const boost::json::object& job);

// Pure, for tests: how much is left, from what was seen.
class Estimate {
 public:
  // At a time in seconds; progress from 0 to 1, files that have ended.
  void note(double at, double progress, std::int64_t files);
  // Files per second over the last while; -1: not known yet.
  double rate() const;
  // Seconds until the end; -1: not known yet.
  double left() const;

 private:
  struct Seen {
    double at;
    double progress;
    std::int64_t files;
  };
  std::vector<Seen> seen_;
};
// "42 s", "3 min", "2 h 10 min".
std::string duration_text(double seconds);

}  // namespace quern::app
