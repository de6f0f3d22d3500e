// The files of the web UI, compiled in: the program needs no file beside itself. The definition is
// made at build time, by web/embed.mjs.
#pragma once

#include <span>
#include <string_view>

namespace quern::api {

struct WebAsset {
  std::string_view path;  // "/assets/index-abc.js"; the pages themselves are "/index.html"
  std::string_view type;
  std::string_view etag;  // quoted
  std::string_view bytes;
  std::string_view gzip;  // the same, compressed; empty where that gains nothing
};

std::span<const WebAsset> web_assets();

}  // namespace quern::api
