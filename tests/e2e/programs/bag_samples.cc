// bag_samples FOLDER: bags with everything that is awkward in a name, for checkers that are not
// ours: FOLDER/awkward, and FOLDER/zipped.zip with the same in it.
#include <fmt/format.h>

#include <filesystem>

#include "base/check.h"
#include "fileset/bag.h"

namespace quern::fileset {
namespace {

constexpr std::int64_t kAtUs = 1'794'808'800'000'000;
constexpr int kLargeBytes = 3'000'000;
constexpr int kFiles = 800;  // more lines than wait in memory

Result<> put(BagWriter& bag, const BagFile& file, std::string_view bytes) {
  TRY(bag.begin_file(file));
  TRY(bag.add(bytes));
  return bag.end_file();
}

Result<> put_awkward(BagWriter& bag) {
  TRY(bag.begin_dataset({"zenodo-1028059", "Tide gauges\r\nof the North Sea",
                         "doi:10.5281/zenodo.1028059", "https://zenodo.org/record/1028059",
                         "Levels, hourly", "2026-11-16T06:00:00Z", "success"}));
  TRY(put(bag, {.path = "levels.csv", .type = "text/csv", .url = "https://zenodo.org/f/1"}, "1,2"));
  TRY(put(bag, {.path = "empty"}, ""));
  TRY(put(bag, {.path = "deep/er/and/deeper/50%.txt"}, "fifty"));
  TRY(put(bag, {.path = "line\nend\r.txt"}, "lines"));
  TRY(put(bag, {.path = "%0A"}, "not a line end"));
  TRY(put(bag, {.path = "Grüße/日本 😀.txt"}, "unicode"));
  TRY(put(bag, {.path = "caf\xe9"}, "latin"));
  TRY(put(bag, {.path = "../../escape"}, "stays"));
  TRY(put(bag, {.path = "  blanks  "}, "blanks"));
  TRY(put(bag, {.path = "#hash?query&\"quote\".txt"}, "marks"));
  TRY(put(bag, {.path = fmt::format("{:n>400}.txt", 1)}, "long"));
  TRY(put(bag, {.path = "twice"}, "one"));
  TRY(put(bag, {.path = "twice"}, "two"));
  TRY(put(bag, {.path = "twice/three"}, "three"));
  TRY(put(bag, {.path = "large"}, std::string(kLargeBytes, 'x')));
  return bag.end_dataset();
}

Result<> write(const std::filesystem::path& out) {
  TRY_ASSIGN(BagWriter bag, BagWriter::create({out, BagKind::Bag, "rescue", "The archive\nof here",
                                               "quern/test", kAtUs}));
  TRY(put_awkward(bag));
  TRY(bag.begin_dataset({.name = "figshare.com/7", .identifier = "7"}));
  TRY(bag.end_dataset());
  for (int i = 0; i < kFiles; ++i) {
    TRY(put(bag, {.path = fmt::format("many/{:02}/{}.txt", i % 50, i)}, std::to_string(i)));
  }
  TRY(bag.add_provenance("1.json", "{\"status\":\"success\"}\n"));
  TRY(bag.finish());
  return {};
}

}  // namespace
}  // namespace quern::fileset

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const std::filesystem::path folder = std::filesystem::absolute(argv[1]);
  CHECK_OK(quern::fileset::write(folder / "awkward"));
  CHECK_OK(quern::fileset::write(folder / "zipped.zip"));
  return 0;
}
