// toy_server FOLDER ITEMS ORDER: a program for the kill sweep's own test.
//
// It writes ITEMS files and, behind each, a count of them; a later start goes on where the count
// ends. ORDER: right; swapped (the count before the file it counts, so that a kill between the two
// loses the file for good); volatile (writes nothing durably); forgetful (right, but it counts its
// starts).
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "base/crash.h"
#include "io/file.h"

namespace quern {
namespace {

constexpr std::size_t kBytesMax = 1024;

struct Toy {
  io::Path folder;
  int items;
  std::string order;

  Result<int> count() const {
    const Result<std::string> text = io::read_file(folder / "count", kBytesMax);
    if (!text.ok() && text.error().kind() == Errc::Missing) return 0;
    if (!text.ok()) return text.error();
    return std::atoi(text->c_str());
  }
  Result<> write_item(int i) const {
    return io::write_file_durably(folder / fmt::format("item{}", i), fmt::format("contents {}", i));
  }
  Result<> write_count(int i) const {
    return io::write_file_durably(folder / "count", std::to_string(i + 1));
  }
  Result<> step(int i) const {
    const bool swapped = order == "swapped";
    TRY(swapped ? write_count(i) : write_item(i));
    crash_point("toy.between");
    return swapped ? write_item(i) : write_count(i);
  }
  Result<> note_start() const {
    TRY_ASSIGN(const bool started_before, io::path_exists(folder / "started"));
    return io::write_file_durably(folder / (started_before ? "restarted" : "started"), "");
  }
  Result<> run() const {
    TRY(io::remove_temp_files(folder));
    if (order == "forgetful") TRY(note_start());
    TRY_ASSIGN(const int done, count());
    if (order == "volatile") return {};
    for (int i = done; i < items; ++i) TRY(step(i));
    return {};
  }
};

}  // namespace
}  // namespace quern

int main(int argc, char** argv) {
  CHECK(argc == 4);
  CHECK_OK(quern::arm_crash_from_environment());
  const quern::Toy toy{argv[1], std::atoi(argv[2]), argv[3]};
  const quern::Result<> done = toy.run();
  CHECK_OK(done);
  fmt::print("done\n");
  return 0;
}
