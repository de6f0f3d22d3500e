// Sums: MD5, SHA-1 and SHA-256 of the same bytes, as they come.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace quern::fileset {

struct Digests {  // lower-case hex
  std::string md5;
  std::string sha1;
  std::string sha256;
};

class Sums {
 public:
  Sums();
  ~Sums();
  Sums(Sums&&) noexcept;
  Sums& operator=(Sums&&) noexcept;

  void add(std::string_view bytes);
  // Of what came so far; more may come.
  Digests digests() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quern::fileset
