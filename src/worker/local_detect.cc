#include "worker/local_detect.h"

#include <map>

#include "io/file.h"
#include "worker/box.h"
#include "worker/detected_lines.h"
#include "worker/lent_task.h"

namespace quern::worker {
namespace {

constexpr std::size_t kBatch = 64;

net::Task<> detect_batch(Box* box, std::vector<LentFile> files, std::vector<int> inputs,
                         std::map<std::int64_t, std::string>* types) {
  BoxTask task;
  std::vector<const LentFile*> pointers;
  for (const LentFile& file : files) pointers.push_back(&file);
  task.json = detect_json(pointers);
  task.inputs = std::move(inputs);
  auto run = box->run(task);
  if (!run) co_return;
  DetectedLines lines;
  std::string buffer(64 * 1024, '\0');
  for (;;) {
    const std::size_t n = co_await (*run)->read(buffer);
    if (n == 0) break;
    lines.feed({buffer.data(), n}, *types);
  }
  co_await (*run)->finish();
}

}  // namespace

net::Task<Result<std::vector<DetectedPath>>> detect_paths(net::Loop& loop,
                                                          std::vector<std::string> paths,
                                                          DetectOptions detect) {
  BoxOptions options;
  options.step = "Detect";
  options.program = detect.program;
  options.limits = detect.limits;
  CO_TRY_ASSIGN(const std::unique_ptr<Box> box, co_await Box::start(loop, std::move(options)));
  std::vector<DetectedPath> found;
  for (std::size_t begin = 0; begin < paths.size(); begin += kBatch) {
    std::vector<LentFile> files;
    std::vector<io::FileReader> readers;
    std::vector<int> inputs;
    std::map<std::int64_t, std::string> types;
    const std::size_t end = std::min(begin + kBatch, paths.size());
    for (std::size_t i = begin; i < end; ++i) {
      found.push_back({paths[i], "", ""});
      auto reader = io::FileReader::open(paths[i]);
      if (!reader) {
        found.back().failure = reader.error().message();
        continue;
      }
      inputs.push_back(reader->descriptor());
      readers.push_back(*std::move(reader));
      files.push_back({static_cast<std::int64_t>(i), paths[i], {}});
    }
    if (!files.empty()) co_await detect_batch(box.get(), files, inputs, &types);
    for (std::size_t i = begin; i < end; ++i) {
      const auto type = types.find(static_cast<std::int64_t>(i));
      if (type != types.end()) found[i].type = type->second;
      if (type == types.end() && found[i].failure.empty()) found[i].failure = "not detected";
    }
  }
  co_return found;
}

}  // namespace quern::worker
