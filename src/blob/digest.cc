#include "blob/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/check.h"

namespace quern::blob {

struct Digest::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Digest::Digest(Kind kind) : state_(std::make_unique<State>()) {
  const EVP_MD* algorithm = kind == Kind::Sha256 ? EVP_sha256() : EVP_sha1();
  CHECK(state_->context != nullptr);
  CHECK(EVP_DigestInit_ex(state_->context, algorithm, nullptr) == 1);
}

Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::add(std::string_view bytes) {
  CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

std::string Digest::finish() {
  unsigned char raw[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  CHECK(EVP_DigestFinal_ex(state_->context, raw, &size) == 1);
  return std::string(reinterpret_cast<const char*>(raw), size);
}

std::string sha256_of(std::string_view bytes) {
  Digest digest(Digest::Kind::Sha256);
  digest.add(bytes);
  return digest.finish();
}

std::string sha1_of(std::string_view bytes) {
  Digest digest(Digest::Kind::Sha1);
  digest.add(bytes);
  return digest.finish();
}

std::string hex_of(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned char>(byte));
  }
  return text;
}

}  // namespace quern::blob
