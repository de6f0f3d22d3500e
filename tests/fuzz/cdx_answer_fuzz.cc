// An index of captures: whatever it answers, rows that are read have a time and a digest.
#include <string_view>

#include "base/check.h"
#include "fileset/cdx.h"
#include "fileset/item_files.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace quern::fileset;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const Compat compat : {Compat::Default, Compat::Strict}) {
    const auto rows = parse_cdx_answer(text, compat);
    if (!rows.ok()) continue;
    CHECK(rows->size() <= kCdxRowsMax);
    for (const CdxRow& row : *rows) {
      CHECK(row.datetime.size() == 14 && row.sha1hex.size() == 40);
      CHECK(row.warc_csize >= 0 && row.warc_offset >= 0);
    }
    CHECK(rows->empty() || best_row(*rows, {}) != nullptr);
  }
  if (const auto row = parse_cdx_line(text)) CHECK(row->sha1hex.size() == 40 && row->status);
  if (const auto files = parse_item_files(text); files.ok()) {
    for (const ManifestFile& file : *files) CHECK(!file.path.empty() && file.size.value_or(0) >= 0);
  }
  return 0;
}
