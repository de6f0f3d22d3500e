#include "access/token.h"

#include <gtest/gtest.h>

namespace quern::access {
namespace {

NewToken good() {
  return {digest_of("a secret"), Role::Reader, std::nullopt, "Ann"};
}

TEST(TokenTest, ASecretIsLongRecognisableAndNeverTheSame) {
  const std::string secret = make_secret();
  EXPECT_TRUE(secret.starts_with(kSecretPrefix));
  EXPECT_EQ(secret.size(), kSecretPrefix.size() + 40) << "160 bits";
  EXPECT_LE(secret.size(), kSecretBytesMax);
  EXPECT_NE(secret, make_secret());
}

TEST(TokenTest, TheDigestIsThatOfSha256) {
  EXPECT_EQ(digest_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(TokenTest, WhatCannotBeATokenIsRefused) {
  EXPECT_TRUE(validate(good()).ok());
  NewToken token = good();
  token.sha256[0] = 'A';
  EXPECT_FALSE(validate(token).ok());
  token.sha256 = "";
  EXPECT_FALSE(validate(token).ok());
  token = good();
  token.note = std::string(kNoteBytesMax, 'n');
  EXPECT_TRUE(validate(token).ok());
  token.note += 'n';
  EXPECT_EQ(validate(token).error().kind(), Errc::TooLarge);
  token.note = "\xff";
  EXPECT_FALSE(validate(token).ok());
  token.note = std::string(1, '\0');
  EXPECT_FALSE(validate(token).ok());
}

TEST(TokenTest, OnlyReadersAndEditorsAreLimitedToACollection) {
  NewToken token = good();
  token.collection = "leak";
  for (const Role role : kAllRoles) {
    token.role = role;
    EXPECT_EQ(validate(token).ok(), role == Role::Reader || role == Role::Editor);
  }
  token.role = Role::Reader;
  token.collection = "../../x";
  EXPECT_FALSE(validate(token).ok());
  token.collection = "";
  EXPECT_FALSE(validate(token).ok());
}

}  // namespace
}  // namespace quern::access
