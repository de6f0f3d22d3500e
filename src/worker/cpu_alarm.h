// CpuAlarm: raises a flag once this process has used so much CPU time.
//
// For libraries that look at a flag between two operations (MuPDF's cookie): what is built to take
// for ever ends after its share, and the rest of the task goes on. Time of others does not count.
// One at a time, in a process of one thread.
#pragma once

#include <cstdint>

namespace quern::worker {

class CpuAlarm {
 public:
  // Sets *flag to 1.
  CpuAlarm(std::int64_t cpu_ms, int* flag);
  ~CpuAlarm();
  CpuAlarm(const CpuAlarm&) = delete;
  CpuAlarm& operator=(const CpuAlarm&) = delete;
};

}  // namespace quern::worker
