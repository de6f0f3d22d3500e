// The multipart reader: a content type in the first line, then a body. However the body is cut, the
// same parts come out, and nothing is longer than what went in.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "step/multipart.h"

namespace quern::step {
namespace {

using Kind = MultipartReader::Kind;

constexpr std::string_view kDefaultType = "multipart/form-data; boundary=B";

// "[name:data]" for each part, then how it went.
std::string read(std::string_view type, std::string_view body, std::uint64_t seed) {
  auto reader = MultipartReader::make(type).value();
  std::string text;
  std::size_t data_bytes = 0;
  const std::size_t size = body.size();
  do {
    // Pieces of 1 to 16 bytes, or all at once.
    const std::size_t piece_bytes = seed == 0 ? size : 1 + seed % 16;
    seed = seed * 6'364'136'223'846'793'005ULL + (seed == 0 ? 0 : 1'442'695'040'888'963'407ULL);
    const std::string piece(body.substr(0, piece_bytes));
    body.remove_prefix(piece.size());
    reader.feed(piece);
    for (auto event = reader.next(); event.kind != Kind::NeedMore; event = reader.next()) {
      if (event.kind == Kind::End) return text + "|end";
      if (event.kind == Kind::Malformed) return text + "|malformed";
      CHECK(reader.inside_part() == (event.kind != Kind::PartEnd));
      CHECK(event.kind != Kind::Data || !event.text.empty());
      if (event.kind == Kind::PartBegin) text += '[';
      text += event.text;
      if (event.kind == Kind::PartBegin) text += ':';
      if (event.kind == Kind::PartEnd) text += ']';
      if (event.kind == Kind::Data) data_bytes += event.text.size();
      CHECK(data_bytes <= size);
    }
  } while (!body.empty());
  return text + (reader.inside_part() ? "|cut" : "|more");
}

}  // namespace
}  // namespace quern::step

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace quern::step;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view line = input.substr(0, input.find('\n'));
  const std::string_view body = input.substr(std::min(size, line.size() + 1));
  const std::string_view type = MultipartReader::make(line).ok() ? line : kDefaultType;
  const std::string at_once = read(type, body, 0);
  for (const std::uint64_t seed : {std::uint64_t{16}, std::uint64_t{1}, size * 2 + 1}) {
    CHECK(read(type, body, seed) == at_once);
  }
  return 0;
}
