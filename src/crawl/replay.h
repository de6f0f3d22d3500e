// Replay: the bytes of a capture, from the archive.
#pragma once

#include <filesystem>
#include <string>

#include "crawl/capture.h"
#include "web/fetcher.h"

namespace quern::crawl {

// Of what is shown; what is longer can be had by export.
inline constexpr std::int64_t kReplayBytesMax = 16 * 1024 * 1024;

struct Replay {
  int status = 0;
  web::HeaderList headers;
  std::string body;  // without transfer and content codings
};
// Missing where the file or the record is gone, Corrupt where it is another, TooLarge. Blocks.
Result<Replay> read_capture(const std::filesystem::path& warcs, const NewCapture& capture);

// The address that a revisit refers to, as its record says; empty where it says none. Blocks.
Result<std::string> revisited_url(const std::filesystem::path& warcs, const NewCapture& revisit);

}  // namespace quern::crawl
