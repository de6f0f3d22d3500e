// The box program of office.
#include <dlfcn.h>

#include <ctime>

#include "worker/steps.h"
#include "worker/worker_main.h"

namespace {

using Convert = struct tm* (*)(const time_t*, struct tm*);

const time_t kStarted = ::time(nullptr);

// Documents show the date of today where they are told to, and pages would differ from day to day:
// whatever is not before our start is shown as the first day of all.
struct tm* convert(const char* name, const time_t* when, struct tm* result) {
  const auto real = reinterpret_cast<Convert>(::dlsym(RTLD_NEXT, name));
  const time_t shown = *when >= kStarted - 1 ? 0 : *when;
  return real(&shown, result);
}

}  // namespace

// LibreOffice finds these before those of the C library.
extern "C" struct tm* localtime_r(const time_t* when, struct tm* result) noexcept {
  return convert("localtime_r", when, result);
}
extern "C" struct tm* gmtime_r(const time_t* when, struct tm* result) noexcept {
  return convert("gmtime_r", when, result);
}

int main(int argc, char** argv) {
  using namespace quern::worker;
  const Step steps[] = {office_step()};
  return box_main(argc, argv, steps);
}
