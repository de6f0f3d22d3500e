// Content codings, as a server applies them, and files made of bytes of our own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::test_site {

enum class Deflate { Gzip, Zlib, Raw };
std::string deflated(std::string_view text, Deflate format);
std::string brotli(std::string_view text);
std::string zstd(std::string_view text);

// A gzip stream of so many MiB of zeros: head, a block for each MiB, tail.
struct Bomb {
  std::string head;
  std::string block;
  std::uint64_t blocks;
  std::string tail;
};
Bomb gzip_bomb(std::uint64_t mebibytes);

// Of UTF-8, by the name of an encoding.
std::string converted(std::string_view text, const char* encoding);

// A PDF with one page for each text.
std::string make_pdf(const std::vector<std::string>& pages);
// A zip of stored members.
std::string make_zip(const std::vector<std::pair<std::string, std::string>>& members);
std::string make_docx(std::string_view text);

}  // namespace quern::test_site
