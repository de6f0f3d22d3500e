#include "worker/child_writer.h"

#include <fmt/format.h>

namespace quern::worker {
namespace {

constexpr std::size_t kHeldBytesMax = 256 * 1024;

}  // namespace

std::string ChildWriter::part_name(std::string_view kind) const {
  return fmt::format("{}.{}", count_, kind);
}

void ChildWriter::begin(const Child& child) {
  const ChildFields fields{child.filename, child.content_type, context_.task.want_ocr};
  if (child.metadata.empty()) {
    context_.out.part(part_name("json"), child_json(context_.task, fields));
    return;
  }
  StepTask task = context_.task;
  task.metadata = child.metadata;
  context_.out.part(part_name("json"), child_json(task, fields));
}

void ChildWriter::whole(const Child& child, std::string_view blob) {
  begin(child);
  context_.out.part(part_name("blob"), blob);
  ++count_;
}

void ChildWriter::failed(const Child& child, const Failure& failure) {
  begin(child);
  context_.out.part(part_name("error"), failure_json(failure));
  ++count_;
}

void ChildWriter::stream(const Child& child, const ByteSource& source) {
  std::string held;
  bool streaming = false;
  const auto failure = source([&](std::string_view bytes) {
    if (!streaming && held.size() + bytes.size() <= kHeldBytesMax) {
      held.append(bytes);
      return;
    }
    if (!streaming) {
      begin(child);
      context_.out.begin(part_name("blob"));
      context_.out.write(held);
      streaming = true;
    }
    context_.out.write(bytes);
  });
  if (streaming) {
    context_.out.end();
    if (failure) context_.out.part(part_name("error"), failure_json(*failure));
    ++count_;
  } else if (failure) {
    failed(child, *failure);
  } else {
    whole(child, held);
  }
}

void ChildWriter::progress_of_children(std::uint64_t processed, std::uint64_t total) {
  context_.out.part("progress", fmt::format(R"({{"children":{{"nProcessed":{},"nTotal":{}}}}})",
                                            processed, total));
}

void ChildWriter::progress_of_bytes(std::uint64_t processed, std::uint64_t total) {
  context_.out.part(
      "progress", fmt::format(R"({{"bytes":{{"nProcessed":{},"nTotal":{}}}}})", processed, total));
}

}  // namespace quern::worker
