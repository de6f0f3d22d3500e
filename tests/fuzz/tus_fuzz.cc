// Headers of resumable uploads. What was read is written and read again as the same.
#include <string>
#include <string_view>

#include "base/check.h"
#include "model/tus.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace quern::model;
  const std::string header(reinterpret_cast<const char*>(data), size);
  if (const auto metadata = parse_tus_metadata(header); metadata.ok()) {
    const auto again = parse_tus_metadata(format_tus_metadata(*metadata));
    CHECK_OK(again);
    CHECK(*again == *metadata);
  }
  if (const auto checksum = parse_tus_checksum(header); checksum.ok()) {
    CHECK(parse_tus_checksum(format_tus_checksum(*checksum)).value() == *checksum);
  }
  if (const auto number = parse_tus_number("Upload-Offset", header); number.ok()) {
    CHECK(*number >= 0);
    CHECK(parse_tus_number("Upload-Offset", std::to_string(*number)).value() == *number);
  }
  CHECK(!parse_tus_length(nullptr, &header).ok());
  return 0;
}
