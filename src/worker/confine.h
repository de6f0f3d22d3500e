// Confinement: takes from a process what a converter does not need, before it loads anything.
//
// Guarantee: what was said to be done was done for this process and all that it forks; what the
// machine forbids is left out and named. How: as root by namespaces and a change of user, as a
// plain user by a user namespace, in a container that allows neither by what needs no right at all
// (landlock, seccomp, no new privileges, limits).
//
//   outer process (waits) -> the zygote, process 1 of its namespace -> a child for each task
//
// Threads: a process with one thread only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "worker/channel.h"
#include "worker/step.h"

namespace quern::worker {

struct Confinement {
  std::vector<std::string> done;     // "user", "mounts", "network", ...
  std::vector<std::string> missing;  // "mounts: Operation not permitted"

  bool has(std::string_view what) const;
  // {"done":[...],"missing":[...]}
  std::string json() const;
};

struct ConfineOptions {
  std::uint64_t scratch_bytes = 1ULL << 30;
  int keep = -1;  // a descriptor that only the zygote keeps
};

// Returns in the zygote; the outer process waits for it here and ends as it did.
Confinement confine(const ConfineOptions& options);

// Where steps may write, or "" where there is no such place.
std::string_view scratch_folder(const Confinement& confinement);
// What a kept child has there for all its tasks.
inline constexpr std::string_view kKeptFolder = "kept";
enum class Leftovers { Task, All };
// Removes what a task left there, or a kept child.
void empty_scratch(const Confinement& confinement, Leftovers what);

// In a child, for good: limits of the system.
void limit_child(const RunOrder& order, const Step& step);

}  // namespace quern::worker
