// Digest: SHA-256 and SHA-1 of bytes that come in pieces.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace quern::blob {

inline constexpr std::size_t kSha256Bytes = 32;
inline constexpr std::size_t kSha1Bytes = 20;

class Digest {
 public:
  enum class Kind { Sha256, Sha1 };

  explicit Digest(Kind kind);
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;

  void add(std::string_view bytes);
  // Raw bytes. Once, and last.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_of(std::string_view bytes);
std::string sha1_of(std::string_view bytes);
std::string hex_of(std::string_view bytes);

}  // namespace quern::blob
