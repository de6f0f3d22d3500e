// What researchers report, and sets of clips: whatever comes, a report that is read can be stored,
// and a set that is read is written as the same bytes.
#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "research/clip_set.h"
#include "research/result.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace quern::research;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto report = parse_report(bytes); report.ok()) {
    CHECK(report->episode > 0 && report->clip.value_or(1) > 0);
    CHECK(report->clip || report->final || !report->lease_id.empty());
    CHECK(report->lease_id.empty() || report->lease_id.size() == 36);
    CHECK(report->found.size() <= kOffsetsMax);
    CHECK(std::ranges::is_sorted(report->found, std::ranges::less_equal{}, &Finding::offset_ns));
    for (const Finding& finding : report->found) {
      CHECK(finding.offset_ns >= 0 && finding.score >= 0 && finding.score <= 1);
    }
    for (const auto& text : {report->error, report->episode_hash, report->clip_hash}) {
      CHECK(quern::is_valid_utf8(text) && text.find('\0') == std::string::npos);
    }
  }
  if (const auto set = ClipSet::decode(bytes); set.ok()) {
    CHECK(set->encode() == bytes);
    CHECK(set->empty() || (set->contains(set->last()) && set->last() <= kClipNumberMax));
    if (set->size() < 10'000) {
      ClipSet again;
      for (const std::int64_t number : set->numbers()) CHECK(again.add(number));
      CHECK(again == *set);
    }
  }
  return 0;
}
