// For crash tests: the résumé example (examples/resumes) at work in a real server, over HTTP.
//
// Each class belongs to the thread that made it; the programs they start end with it.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/client.h"
#include "net/loop.h"
#include "support/program.h"

namespace quern::crash {

// Long enough for a loaded machine; nothing waits this long unless it is broken.
inline constexpr std::chrono::milliseconds kPatience{60'000};
inline constexpr int kResumesMax = 12;  // in samples/resumes
inline constexpr char kJobs[] = "/api/v1/partitions/jobs";

// Waits for a condition that others bring about.
bool eventually(const std::function<bool()>& condition);

// Requests to one server. Each fails after a while where no answer comes.
class Api {
 public:
  explicit Api(const std::string& address);  // http://HOST:PORT

  Result<net::Response> send(net::Method method, std::string target, std::string body = "");
  // The object that an answer with status 200 holds.
  Result<boost::json::object> load(std::string target);
  // A value of /metrics; -1 where it is not there or nobody answers.
  std::int64_t metric(const std::string& name);

 private:
  net::Loop loop_;
  net::Endpoint endpoint_;
};

// The handler as a process of its own. Its file of effects lies in the folder.
class ResumeHandler {
 public:
  static Result<std::unique_ptr<ResumeHandler>> start(const std::filesystem::path& folder,
                                                      int slow_ms = 0);

  const std::string& address() const { return address_; }
  // SIGKILL, then another one at the same address with the same file.
  Result<> kill_and_restart();
  // A line "ITEM GATE RESULT" for each effect of the partition, sorted; violations as they are.
  Result<std::string> effects() const;

 private:
  ResumeHandler() = default;
  Result<> launch();

  std::vector<std::string> arguments_;
  std::filesystem::path file_;
  std::string address_;
  std::unique_ptr<support::Program> program_;
};

// The first résumés of samples/resumes as JSON lines; `of` so many in all.
Result<std::vector<std::string>> resume_lines(int count);
// The fields of the partition, as JSON.
std::string jobs_fields(const ResumeHandler& handler, int concurrency);

// What became of the partition: itself, its items with their bytes, the gates in the order in which
// they opened. Without ids and times, so that two equal runs have equal stories.
Result<std::string> story_of(Api& api);

// The events of the partition, checked: without gaps, with tokens that never fall, and each item
// completed once.
struct Checked {
  std::vector<std::int64_t> tokens;  // that wrote, ascending
  std::string gates;                 // in order of opening: "1 2 "
  std::string faults;                // empty: none
};
Result<Checked> check_events(Api& api);

}  // namespace quern::crash
