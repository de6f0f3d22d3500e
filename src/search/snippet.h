// Snippets: the piece of a text that shows best why it was found.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "search/query.h"
#include "search/words.h"

namespace quern::search {

inline constexpr std::size_t kSnippetCharactersMax = 240;
// Behind the first hit so much more is looked at for a better place; before it, everything.
inline constexpr std::size_t kSnippetBytesAfterHit = 64 * 1024;

struct Snippet {
  // Escaped for HTML (& < > "), hits between <mark> and </mark>, blanks folded, "…" where it was
  // cut.
  std::string html;
  std::optional<std::size_t> hit;  // where the shown hit begins in the text, in bytes; none: no hit
};

// What a query looks for in a text, prepared once for many texts.
class Highlighter {
 public:
  explicit Highlighter(const Query& query);
  ~Highlighter();
  Snippet snippet(std::string_view text);
  // The whole of a short text (a title), with its hits marked.
  std::string mark(std::string_view text);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quern::search
