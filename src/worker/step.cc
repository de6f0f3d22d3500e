#include "worker/step.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"

namespace quern::worker {

namespace {

// With its comma; nothing for one page.
std::string page_ends_json(std::span<const std::size_t> ends) {
  if (ends.size() < 2) return {};
  std::string json = fmt::format(R"(,"pageEnds":[{}])", fmt::join(ends, ","));
  return json.size() <= kPageEndsJsonBytesMax ? json : std::string();
}

// With their commas; nothing where it is no web page.
std::string main_text_json(const ChildFields& child) {
  if (!child.main_bytes) return {};
  std::string json = fmt::format(R"(,"mainBytes":{},"headings":[)", *child.main_bytes);
  for (std::size_t i = 0; i < child.headings.size(); ++i) {
    json += fmt::format(R"({}"{}")", i == 0 ? "" : ",", json_escaped(child.headings[i]));
  }
  return json + ']';
}

}  // namespace

std::string child_json(const StepTask& task, const ChildFields& child) {
  return fmt::format(R"({{"filename":"{}","contentType":"{}","languageCode":"{}","metadata":{},)"
                     R"("wantOcr":{},"wantSplitByPage":{}{}{}}})",
                     json_escaped(child.filename), json_escaped(child.content_type),
                     json_escaped(task.language_code), task.metadata, child.want_ocr,
                     task.want_split_by_page, page_ends_json(child.page_ends),
                     main_text_json(child));
}

std::string failure_json(const Failure& failure) {
  return fmt::format(R"({{"kind":"{}","message":"{}","again":false}})",
                     model::to_string(failure.kind), json_escaped(failure.message));
}

std::string read_input(const StepInput& input, std::uint64_t bytes_max) {
  std::string bytes(std::min(input.bytes, bytes_max), '\0');
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n =
        ::pread(input.descriptor, bytes.data() + got, bytes.size() - got, static_cast<off_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

}  // namespace quern::worker
