#include "crash/nested_sample.h"

#include <fmt/format.h>

#include <fstream>

#include "base/check.h"
#include "support/program.h"

namespace quern::crash {
namespace {

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  std::ofstream(path, std::ios::binary) << bytes;
}

// The same bytes whenever it is made: times would change them.
void pack(const std::filesystem::path& folder, const std::string& format,
          const std::filesystem::path& into) {
  support::ProgramOptions options;
  options.program = "/usr/bin/bsdtar";
  options.arguments = {
      "--format", format == "zip" ? "zip" : "ustar", "-cf", into.string(), "-C", folder.string(),
      "."};
  if (format != "zip") options.arguments.insert(options.arguments.begin(), "-z");
  const Result<support::Ran> ran = support::run_program(options);
  CHECK_OK(ran);
  CHECK(ran->status.exited_with(0));
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += fmt::format("Line {} of a long report.\n", i);
  return text;
}

}  // namespace

NestedSample::NestedSample(Size size) {
  size == Size::Nested ? make_nested() : make_small();
}

void NestedSample::make_nested() {
  const std::filesystem::path& at = folder_.path();
  write(at / "inner/note.txt", "a note in the innermost archive\n");
  write(at / "inner/run.bin", std::string("\x00\x01\x02\xfe\xff nobody handles this", 25));
  write(at / "middle/stats.txt", "1 2 3\n");
  write(at / "middle/long.txt", long_text());
  write(at / "outer/readme.txt", "read me first\n");
  pack(at / "inner", "zip", at / "middle/inner.zip");
  pack(at / "middle", "tar", at / "outer/middle.tar.gz");
  std::error_code failed;
  std::filesystem::create_directories(at / "leak", failed);
  pack(at / "outer", "zip", at / "leak/archive.zip");
  write(at / "leak/loose.txt", "a loose file\n");
}

void NestedSample::make_small() {
  const std::filesystem::path& at = folder_.path();
  write(at / "inner/note.txt", "a note\n");
  write(at / "inner/run.bin", std::string("\x00\x01\x02\xfe\xff nobody handles this", 25));
  std::error_code failed;
  std::filesystem::create_directories(at / "leak", failed);
  pack(at / "inner", "zip", at / "leak/archive.zip");
}

Result<std::string> orphans_of(const std::filesystem::path& blobs) {
  // `quern check` names what rows miss; this looks for what no run has counted: temporary files.
  std::string names;
  std::error_code failed;
  std::filesystem::recursive_directory_iterator walk(blobs, failed);
  if (failed) return std::string();
  for (const auto& entry : walk) {
    if (entry.path().filename().string().starts_with(".quern-tmp-")) {
      names += entry.path().filename().string() + "\n";
    }
  }
  return names;
}

}  // namespace quern::crash
