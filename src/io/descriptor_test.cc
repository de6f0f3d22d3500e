#include "io/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "io/system_error.h"

namespace quern::io {
namespace {

bool is_open(int number) {
  return ::fcntl(number, F_GETFD) >= 0;
}

TEST(DescriptorTest, ClosesWhatItOwnsOnce) {
  int number = -1;
  {
    Pipe pipe = *make_pipe();
    number = pipe.read_end.get();
    const Descriptor moved = std::move(pipe.read_end);
    EXPECT_FALSE(pipe.read_end.is_open());
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(DescriptorTest, AssignmentClosesTheOldOne) {
  Pipe pipe = *make_pipe();
  const int old = pipe.read_end.get();
  pipe.read_end = std::move(pipe.write_end);
  EXPECT_FALSE(is_open(old));
  EXPECT_TRUE(is_open(pipe.read_end.get()));
}

TEST(DescriptorTest, ReleasedNumberStaysOpen) {
  int number = -1;
  {
    Pipe pipe = *make_pipe();
    number = pipe.read_end.release();
  }
  EXPECT_TRUE(is_open(number));
  ::close(number);
}

TEST(DescriptorTest, PipesAreClosedOnExec) {
  const Pipe pipe = *make_pipe();
  EXPECT_EQ(::fcntl(pipe.read_end.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::fcntl(pipe.write_end.get(), F_GETFD), FD_CLOEXEC);
}

struct Mapping {
  int error_number;
  Errc kind;
};

TEST(SystemErrorTest, EveryErrnoHasTheKindThatSaysWhatToDo) {
  const Mapping table[] = {
      {ENOSPC, Errc::Full},      {EDQUOT, Errc::Full},        {ENOENT, Errc::Missing},
      {EACCES, Errc::Denied},    {EPERM, Errc::Denied},       {EROFS, Errc::Denied},
      {EEXIST, Errc::Conflict},  {ENOTEMPTY, Errc::Conflict}, {EMFILE, Errc::Busy},
      {ENFILE, Errc::Busy},      {ENOMEM, Errc::Busy},        {EAGAIN, Errc::Busy},
      {EIO, Errc::Unavailable},  {ETIMEDOUT, Errc::Timeout},  {EFBIG, Errc::TooLarge},
      {ENOTDIR, Errc::Invalid},  {EISDIR, Errc::Invalid},     {ENAMETOOLONG, Errc::Invalid},
      {ELOOP, Errc::Invalid},    {EINVAL, Errc::Internal},    {EBADF, Errc::Internal},
      {999'999, Errc::Internal},
  };
  for (const Mapping& row : table)
    EXPECT_EQ(kind_of_errno(row.error_number), row.kind) << row.error_number;
}

TEST(SystemErrorTest, MessageTellsWhatWasTried) {
  EXPECT_EQ(system_error(ENOSPC, "write /a").message(), "write /a: No space left on device");
  EXPECT_EQ(system_error(999'999, "write /a").message(), "write /a: unknown error");
}

}  // namespace
}  // namespace quern::io
