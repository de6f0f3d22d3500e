// Process: a child program that dies with us.
//
// Guarantee: the child is gone when the object is, and when this process dies, however it dies. It
// has exactly the descriptors it was given; it does not inherit QUERN_CRASH and QUERN_CRASH_LOG
// (base/crash.h) unless `environment` names them. How: PR_SET_PDEATHSIG, set before exec, with a
// look at the parent afterwards in case it died in between; every other descriptor is marked
// close-on-exec in the child; waiting and killing go through a pidfd, so they never hit a stranger
// that got the same number.
//
// Threads: the death signal is tied to the THREAD that started the child, not to the process. Start
// children from a thread that lives as long as they should. kill() and pidfd() are safe from any
// thread; the rest from one at a time.
// Lifetime: the destructor kills (SIGKILL) and reaps.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "io/descriptor.h"
#include "io/file.h"

namespace quern::io {

// How long a child may take from fork to exec; a dead network folder can hold it for ever.
inline constexpr std::chrono::milliseconds kProcessStartMax{30'000};

struct ExitStatus {
  int code = 0;    // of exit()
  int signal = 0;  // that killed it; then the code means nothing

  bool exited_with(int wanted) const { return signal == 0 && code == wanted; }
  bool killed_by(int wanted) const { return signal == wanted; }
  // "exit 3", "signal 9 (Killed)".
  std::string text() const;
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

// Where a standard stream of the child leads.
struct Stream {
  enum class Kind { Inherit, Null, Pipe, File, Descriptor };
  Kind kind = Kind::Inherit;
  Path file;
  int descriptor = -1;

  static Stream inherit() { return {}; }
  static Stream null() { return {Kind::Null, {}, -1}; }
  // Our end is Process::input(), output() or errors().
  static Stream pipe() { return {Kind::Pipe, {}, -1}; }
  // Read for standard input; made where missing and appended to for the others.
  static Stream at(Path path) { return {Kind::File, std::move(path), -1}; }
  // Stays the caller's.
  static Stream of(int number) { return {Kind::Descriptor, {}, number}; }
};

struct GivenDescriptor {
  int ours;   // stays ours
  int child;  // its number in the child, 3 or more
};

struct User {
  uid_t uid;
  gid_t gid;
};

enum class ProcessGroup { Same, Own };  // Own: a terminal's Ctrl-C does not reach it

struct ProcessOptions {
  std::vector<std::string> argv;  // [0] without a slash is looked for in PATH
  // Over our own; no value removes the variable.
  std::vector<std::pair<std::string, std::optional<std::string>>> environment;
  Path folder;  // to run in; empty: ours
  Stream in = Stream::null();
  Stream out;
  Stream err;
  std::vector<GivenDescriptor> descriptors;
  std::optional<std::uint64_t> open_files_max;
  std::optional<User> user;  // root only
  ProcessGroup group = ProcessGroup::Same;
  int death_signal = SIGKILL;  // what it gets when its starting thread is gone
};

class Process {
 public:
  // Missing, Denied, ... where the program could not be started: exec failed, no such folder.
  static Result<Process> start(const ProcessOptions& options);
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;

  pid_t pid() const { return pid_; }
  // Readable when the child has ended: for an event loop.
  int pidfd() const { return pidfd_.get(); }
  // Our ends of pipes; others are not open.
  Descriptor& input() { return input_; }
  Descriptor& output() { return output_; }
  Descriptor& errors() { return errors_; }

  // Reaps. Timeout where it still runs after that long; any number of times.
  Result<ExitStatus> wait(std::chrono::milliseconds longest);
  // Fine where it has ended already.
  Result<> kill(int signal) const;

 private:
  explicit Process(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  Descriptor pidfd_;
  Descriptor input_;
  Descriptor output_;
  Descriptor errors_;
  std::optional<ExitStatus> status_;
};

}  // namespace quern::io
