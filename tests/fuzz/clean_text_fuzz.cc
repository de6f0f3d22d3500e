// The text cleaner: what comes out is valid, has no controls, is stable, and does not depend on how
// the bytes were cut.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "step/clean_text.h"

namespace quern::step {
namespace {

struct Cleaned {
  std::string text;
  bool was_cut = false;

  friend bool operator==(const Cleaned&, const Cleaned&) = default;
};

Cleaned clean(std::string_view bytes, std::size_t piece_bytes, std::int64_t characters_max) {
  TextCleaner cleaner(characters_max);
  Cleaned cleaned;
  while (!bytes.empty()) {
    const std::string piece(bytes.substr(0, piece_bytes));
    bytes.remove_prefix(piece.size());
    cleaner.feed(piece, cleaned.text);
  }
  cleaner.finish(cleaned.text);
  CHECK(cleaner.characters() <= characters_max);
  cleaned.was_cut = cleaner.was_cut();
  return cleaned;
}

void check(std::string_view bytes, std::int64_t characters_max) {
  const Cleaned whole = clean(bytes, bytes.size(), characters_max);
  for (const std::size_t piece_bytes : {1, 2, 3, 7}) {
    CHECK(clean(bytes, piece_bytes, characters_max) == whole);
  }
  CHECK(is_valid_utf8(whole.text));
  const auto is_control = [](char c) { return c >= 0 && c < 0x20 && c != '\n' && c != '\t'; };
  CHECK(std::none_of(whole.text.begin(), whole.text.end(), is_control));
  CHECK(clean_text(whole.text, characters_max) == whole.text);
}

}  // namespace
}  // namespace quern::step

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  quern::step::check(bytes, quern::step::kTextCharactersMax);
  quern::step::check(bytes, static_cast<std::int64_t>(size / 2));
  return 0;
}
