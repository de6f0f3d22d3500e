// Step: one kind of conversion, as it runs in the box.
//
// A step is warmed once in the zygote (libraries loaded, fonts and databases read), then run in a
// fork of it for each task. It gets descriptors only and writes parts; it may crash, hang and
// allocate as it likes: the box ends it, and nothing else notices. The same input must give the
// same output, byte for byte: no dates, no random numbers, no names of this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "worker/limits.h"
#include "worker/part_writer.h"

namespace quern::worker {

// What the server says of the file.
struct StepTask {
  std::string filename;
  std::string content_type;   // as stored
  std::string detected_type;  // what Detect saw
  std::string language_code;
  std::string metadata = "{}";  // a JSON object as text
  bool want_ocr = false;
  bool want_split_by_page = false;
};

// A seekable descriptor, read with pread only.
struct StepInput {
  int descriptor = -1;
  std::uint64_t bytes = 0;
  // For Detect, which gets many.
  std::int64_t file = 0;
  std::string filename;
};

struct StepContext {
  StepTask task;
  std::vector<StepInput> inputs;
  Limits limits;
  PartWriter& out;
};

// Nothing: done.
using StepEnd = std::optional<Failure>;

// Whether its libraries start threads. Processes are never allowed.
enum class Threads { None, Allowed };

struct Step {
  const char* name;
  std::string (*version)();
  void (*warm)();
  StepEnd (*run)(StepContext& context);
  int tasks_per_poll;
  std::int64_t wall_ms_max = 0;  // where it needs less than others; 0: as all
  Threads threads = Threads::None;
  // Where set, a child is kept from task to task of one job, since it takes long to get ready: this
  // is called in it once, before it sees any file.
  void (*begin)() = nullptr;
};

// What a child says of itself in N.json; the rest is kept from its parent.
struct ChildFields {
  std::string_view filename;
  std::string_view content_type;
  bool want_ocr = false;
  // Of a text of several pages: its bytes up to the end of each.
  std::span<const std::size_t> page_ends = {};
  // Of a web page: bytes of its text that are the main text, and its headings.
  std::optional<std::size_t> main_bytes = std::nullopt;
  std::span<const std::string> headings = {};
};
// Page ends that would take more than this are left out: all of N.json has 1 MiB.
inline constexpr std::size_t kPageEndsJsonBytesMax = 256 * 1024;
std::string child_json(const StepTask& task, const ChildFields& child);
// Of N.error and failure.
std::string failure_json(const Failure& failure);

// All bytes of an input, at most bytes_max of them.
std::string read_input(const StepInput& input, std::uint64_t bytes_max);

}  // namespace quern::worker
