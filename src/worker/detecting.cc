// How a lane runs a Detect task: many files in one child, and one by one after a child that died.
#include <fmt/format.h>

#include <charconv>

#include "base/log.h"
#include "worker/detected_lines.h"
#include "worker/input.h"
#include "worker/lane.h"

namespace quern::worker {

using model::ErrorKind;

// What is known so far of the files of one task.
class DetectState {
 public:
  explicit DetectState(const LentTask& task) : task_(task) {}

  // Those that nobody has decided about yet.
  std::vector<const LentFile*> open() const {
    std::vector<const LentFile*> files;
    for (const LentFile& file : task_.files) {
      if (!types.contains(file.file) && !failed.contains(file.file)) files.push_back(&file);
    }
    return files;
  }
  std::string json() const;

  std::map<std::int64_t, std::string> types;
  std::map<std::int64_t, Failure> failed;
  RunCost cost;

 private:
  const LentTask& task_;
};

std::string DetectState::json() const {
  std::string found;
  for (const auto& [file, type] : types) {
    found += fmt::format(R"({}{{"file":{},"type":"{}"}})", found.empty() ? "" : ",", file,
                         json_escaped(type));
  }
  std::string lost;
  for (const auto& [file, failure] : failed) {
    lost += fmt::format(R"({}{{"file":{},"kind":"{}","message":"{}"}})", lost.empty() ? "" : ",",
                        file, model::to_string(failure.kind), json_escaped(failure.message));
  }
  return fmt::format(R"({{"types":[{}],"failed":[{}],"cost":{}}})", found, lost, cost.json());
}

net::Task<> Lane::detect(HeldTask held) {
  DetectState state(held->task);
  bool alone = false;
  while (!held->gone) {
    std::vector<const LentFile*> files = state.open();
    if (files.empty()) break;
    if (alone) files.resize(1);
    const RunEnd end = co_await detect_some(held, state, files);
    if (!end.failure) continue;
    // The first that is still open is where it died.
    if (alone && !state.open().empty()) {
      state.failed.emplace(state.open().front()->file, *end.failure);
    }
    alone = true;
  }
  if (!held->gone) co_await post(held, "/types", state.json());
}

net::Task<RunEnd> Lane::detect_some(HeldTask held, DetectState& state,
                                    std::vector<const LentFile*> files) {
  RunEnd end;
  BoxTask task;
  const std::size_t open_before = state.open().size();
  std::vector<io::Descriptor> inputs;
  std::vector<const LentFile*> opened;
  for (const LentFile* file : files) {
    const InputOptions options{options_.temp_folder, true};
    auto input = co_await open_input(lines_, file->blob, options);
    if (!input && input.error().kind() == Errc::Missing) {
      held->gone = true;
      co_return end;
    }
    if (!input) {
      state.failed.emplace(file->file, Failure{ErrorKind::Fetch, input.error().message()});
      continue;
    }
    task.inputs.push_back(input->get());
    inputs.push_back(*std::move(input));
    opened.push_back(file);
  }
  if (opened.empty()) co_return end;
  task.json = detect_json(opened);
  const Result<> box = co_await need_box();
  auto run = box.ok() ? box_->run(task) : Result<std::shared_ptr<Run>>(box.error());
  if (!run) {
    end.failure = Failure{ErrorKind::Internal, run.error().message()};
    co_return end;
  }
  held->run = *run;
  DetectedLines lines;
  std::string buffer(64 * 1024, '\0');
  for (;;) {
    const std::size_t n = co_await (*run)->read(buffer);
    if (n == 0) break;
    lines.feed({buffer.data(), n}, state.types);
  }
  end = co_await (*run)->finish();
  held->run.reset();
  state.cost.wall_ms += end.cost.wall_ms;
  state.cost.cpu_ms += end.cost.cpu_ms;
  state.cost.peak_kib = std::max(state.cost.peak_kib, end.cost.peak_kib);
  // One that ended well and left files out has them failed: it would do so for ever.
  if (!end.failure && state.open().size() == open_before) {
    end.failure = Failure{ErrorKind::Internal, "detection said nothing"};
  }
  co_return end;
}

}  // namespace quern::worker
