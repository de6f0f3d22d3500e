#include "worker/cpu_alarm.h"

#include <signal.h>
#include <sys/time.h>

namespace quern::worker {
namespace {

int* volatile raised = nullptr;

extern "C" void raise_flag(int) {
  int* const flag = raised;
  if (flag != nullptr) *static_cast<volatile int*>(flag) = 1;
}

void set_timer(std::int64_t cpu_ms) {
  itimerval timer{};
  timer.it_value.tv_sec = cpu_ms / 1000;
  timer.it_value.tv_usec = cpu_ms % 1000 * 1000;
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

}  // namespace

CpuAlarm::CpuAlarm(std::int64_t cpu_ms, int* flag) {
  raised = flag;
  struct sigaction action {};
  action.sa_handler = raise_flag;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPROF, &action, nullptr);
  set_timer(cpu_ms);
}

CpuAlarm::~CpuAlarm() {
  set_timer(0);
  raised = nullptr;
}

}  // namespace quern::worker
