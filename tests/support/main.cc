#include <gtest/gtest.h>

#include "base/crash.h"
#include "base/log.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // A test program may itself be the child that a test kills.
  CHECK_OK(quern::arm_crash_from_environment());
  quern::set_log(quern::LogLevel::Error, quern::LogFormat::Human);
  return RUN_ALL_TESTS();
}
