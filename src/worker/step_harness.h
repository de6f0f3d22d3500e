// For tests and benchmarks of steps: runs one in this process, without a box, on bytes at hand.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "worker/scratch_file.h"
#include "worker/step.h"

namespace quern::worker {

struct StepRun {
  StepEnd end;
  std::vector<std::pair<std::string, std::string>> parts;  // name, body

  // Of the first part of that name; "(none)" where there is none.
  std::string part(const std::string& name) const {
    for (const auto& [key, body] : parts) {
      if (key == name) return body;
    }
    return "(none)";
  }
  bool has(const std::string& name) const { return part(name) != "(none)"; }
};

inline std::string harness_output(const io::Descriptor& file) {
  StepInput all;
  all.descriptor = file.get();
  all.bytes = static_cast<std::uint64_t>(::lseek(file.get(), 0, SEEK_END));
  return read_input(all, all.bytes);
}

inline StepRun run_task(const Step& step, const StepTask& task, const std::string& bytes,
                        const Limits& limits = {}) {
  const io::Descriptor input = *make_memory_file(bytes);
  const io::Descriptor output = *make_memory_file("");
  PartWriter out(output.get(), "BOUNDARY");
  StepContext context{task, {{input.get(), bytes.size(), 7, task.filename}}, limits, out};
  StepRun run;
  run.end = step.run(context);
  out.flush();
  std::string body = harness_output(output);
  const std::string delimiter = "--BOUNDARY\r\n";
  if (!body.starts_with(delimiter)) {
    run.parts.emplace_back("(raw)", body);
    return run;
  }
  body = "\r\n" + body + delimiter;
  std::size_t at = 2 + delimiter.size();
  while (at < body.size()) {
    const std::size_t name = body.find("name=\"", at) + 6;
    const std::size_t begin = body.find("\r\n\r\n", name) + 4;
    const std::size_t end = body.find("\r\n" + delimiter, begin);
    CHECK(end != std::string::npos);
    run.parts.emplace_back(body.substr(name, body.find('"', name) - name),
                           body.substr(begin, end - begin));
    at = end + 2 + delimiter.size();
  }
  return run;
}

inline StepRun run_step(const Step& step, const std::string& filename, const std::string& bytes,
                        const Limits& limits = {}) {
  StepTask task;
  task.filename = filename;
  task.language_code = "en";
  return run_task(step, task, bytes, limits);
}

}  // namespace quern::worker
