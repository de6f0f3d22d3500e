// Fragments: names, and the JSON of children, progress, failures, costs and types. What comes out
// can be stored: valid UTF-8 without NUL, bounded; and it reads back as itself.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/check.h"
#include "base/log.h"
#include "base/utf8.h"
#include "model/steps.h"
#include "step/fragment.h"

namespace quern::step {
namespace {

void check_storable(const std::string& text) {
  CHECK(is_valid_utf8(text));
  CHECK(text.find('\0') == std::string::npos);
}

void try_name(std::string_view name) {
  const Fragment fragment = parse_fragment(name);
  if (fragment.kind == FragmentKind::Unknown) return;
  CHECK(fragment.index >= 0 && fragment.index <= 99'999'999);
  CHECK(parse_fragment(to_string(fragment)) == fragment);
}

void try_child(std::string_view bytes) {
  const auto child = parse_child(bytes);
  if (!child.ok()) {
    CHECK(child.error().kind() == Errc::Invalid);
    return;
  }
  for (const std::string* text :
       {&child->filename, &child->content_type, &child->language, &child->metadata}) {
    check_storable(*text);
  }
  CHECK(child->filename.size() <= kFilenameBytesMax);
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  const std::string again = fmt::format(
      R"({{"filename":"{}","contentType":"{}","languageCode":"{}","metadata":{},"wantOcr":{},)"
      R"("wantSplitByPage":{}}})",
      json_escaped(child->filename), json_escaped(child->content_type),
      json_escaped(child->language), child->metadata, flag(child->want_ocr),
      flag(child->want_split));
  const auto second = parse_child(again);
  CHECK_OK(second);
  CHECK(*second == *child);
}

void try_others(std::string_view bytes) {
  if (const auto part = parse_progress(bytes)) CHECK(*part >= 0 && *part <= 1);
  const Failure failure = parse_failure(bytes);
  check_storable(failure.message);
  CHECK(!failure.message.empty() && failure.message.size() <= kNoticeBytesMax);
  if (const auto cost = parse_cost(bytes)) CHECK(cost->wall_ms >= 0 && cost->peak_kib >= 0);
  const auto types = parse_types(bytes);
  if (!types.ok()) return;
  for (const DetectedFile& file : types->types) {
    CHECK(model::canonical_type(file.type) == file.type);
    (void)model::step_for_type(file.type, model::Ocr::Yes);
  }
}

}  // namespace
}  // namespace quern::step

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace quern::step;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try_name(bytes);
  try_child(bytes);
  try_others(bytes);
  return 0;
}
