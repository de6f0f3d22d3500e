// For tests: a made-up dataset on a platform, with the answers of its API.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace quern::fileset {

struct Sample {
  std::string platform;
  std::string url;
  std::string html;
  std::vector<std::pair<std::string, std::string>> answers;  // address, body
  std::string mimetype = "text/html";
};

inline constexpr char kMd5[] = "0cc175b9c0f1b6a831c399e269772661";
inline constexpr char kSha1[] = "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8";
inline constexpr char kSha256[] =
    "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";

}  // namespace quern::fileset
