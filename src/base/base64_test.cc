#include "base/base64.h"

#include <gtest/gtest.h>

#include <random>

namespace quern {
namespace {

TEST(Base64Test, WritesWhatTheStandardSays) {
  const std::pair<const char*, const char*> rows[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
  };
  for (const auto& [bytes, text] : rows) {
    EXPECT_EQ(base64_encoded(bytes), text);
    EXPECT_EQ(base64_decoded(text), bytes);
  }
}

TEST(Base64Test, AnyBytesComeBack) {
  std::mt19937 random(7);  // NOLINT: the same bytes every time
  for (std::size_t size = 0; size < 300; ++size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    EXPECT_EQ(base64_decoded(base64_encoded(bytes)), bytes);
  }
}

TEST(Base64Test, WhatNoEncoderWritesIsRefused) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg=a", "Z===", "====", "Zh==", "Zm9=", "Zm 9", "Zm-_",
                           "Zg==Zg==", "\xFFm9v"}) {
    EXPECT_EQ(base64_decoded(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace quern
