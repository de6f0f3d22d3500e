#include "worker/web_page_hints.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace quern::worker {
namespace {

constexpr std::size_t kNamesBytesMax = 400;
constexpr std::size_t kWordBytesMax = 32;

enum class Says : std::uint8_t { Unlikely, Negative, Positive };
enum class As : std::uint8_t { Word, Beginning };

struct Hint {
  std::string_view word;
  Says says;
  As as;
};

// In the order of their first letters. Words are those between dashes, underscores and capitals.
constexpr Hint kHints[] = {
    {"ad", Says::Unlikely, As::Word},
    {"ads", Says::Unlikely, As::Word},
    {"advert", Says::Unlikely, As::Beginning},
    {"adbox", Says::Unlikely, As::Beginning},
    {"agegate", Says::Unlikely, As::Word},
    {"article", Says::Positive, As::Beginning},
    {"author", Says::Negative, As::Word},
    {"banner", Says::Unlikely, As::Beginning},
    {"blog", Says::Positive, As::Word},
    {"body", Says::Positive, As::Word},
    {"breadcrumb", Says::Unlikely, As::Beginning},
    {"byline", Says::Negative, As::Word},
    {"com", Says::Negative, As::Word},
    {"combx", Says::Unlikely, As::Word},
    {"comment", Says::Unlikely, As::Beginning},
    {"community", Says::Unlikely, As::Word},
    {"consent", Says::Unlikely, As::Beginning},
    {"contact", Says::Negative, As::Word},
    {"content", Says::Positive, As::Beginning},
    {"cookie", Says::Unlikely, As::Beginning},
    {"disqus", Says::Unlikely, As::Beginning},
    {"entry", Says::Positive, As::Word},
    {"extra", Says::Unlikely, As::Word},
    {"foot", Says::Unlikely, As::Word},
    {"footer", Says::Unlikely, As::Beginning},
    {"footnote", Says::Negative, As::Beginning},
    {"gdpr", Says::Unlikely, As::Beginning},
    {"h", Says::Positive, As::Word},
    {"header", Says::Unlikely, As::Word},
    {"hentry", Says::Positive, As::Word},
    {"hid", Says::Negative, As::Word},
    {"hidden", Says::Negative, As::Word},
    {"legends", Says::Unlikely, As::Word},
    {"main", Says::Positive, As::Word},
    {"masthead", Says::Unlikely, As::Beginning},
    {"media", Says::Negative, As::Word},
    {"menu", Says::Unlikely, As::Beginning},
    {"meta", Says::Negative, As::Word},
    {"modal", Says::Unlikely, As::Word},
    {"nav", Says::Unlikely, As::Word},
    {"navbar", Says::Unlikely, As::Beginning},
    {"navi", Says::Unlikely, As::Beginning},
    {"newsletter", Says::Unlikely, As::Beginning},
    {"outbrain", Says::Unlikely, As::Word},
    {"page", Says::Positive, As::Word},
    {"pager", Says::Unlikely, As::Word},
    {"pagination", Says::Unlikely, As::Beginning},
    {"popup", Says::Unlikely, As::Beginning},
    {"post", Says::Positive, As::Word},
    {"promo", Says::Unlikely, As::Beginning},
    {"recommend", Says::Unlikely, As::Beginning},
    {"recirc", Says::Unlikely, As::Beginning},
    {"related", Says::Unlikely, As::Beginning},
    {"remark", Says::Unlikely, As::Word},
    {"replies", Says::Unlikely, As::Word},
    {"rss", Says::Unlikely, As::Word},
    {"scroll", Says::Negative, As::Word},
    {"share", Says::Unlikely, As::Beginning},
    {"sharing", Says::Unlikely, As::Beginning},
    {"shopping", Says::Negative, As::Word},
    {"shoutbox", Says::Unlikely, As::Word},
    {"sidebar", Says::Unlikely, As::Beginning},
    {"skip", Says::Unlikely, As::Word},
    {"skyscraper", Says::Unlikely, As::Word},
    {"social", Says::Unlikely, As::Beginning},
    {"sponsor", Says::Unlikely, As::Beginning},
    {"story", Says::Positive, As::Word},
    {"subscri", Says::Unlikely, As::Beginning},
    {"supplemental", Says::Unlikely, As::Word},
    {"taboola", Says::Unlikely, As::Beginning},
    {"tags", Says::Negative, As::Word},
    {"text", Says::Positive, As::Word},
    {"tool", Says::Negative, As::Word},
    {"toolbar", Says::Unlikely, As::Word},
    {"trending", Says::Unlikely, As::Beginning},
    {"widget", Says::Negative, As::Beginning},
    {"yom", Says::Unlikely, As::Word},
};

// Where the words of a letter begin.
using Letters = std::array<std::uint8_t, 27>;
constexpr Letters letters() {
  Letters begin{};
  std::size_t at = 0;
  for (std::size_t letter = 0; letter < 27; ++letter) {
    while (at < std::size(kHints) && kHints[at].word[0] < static_cast<char>('a' + letter)) ++at;
    begin[letter] = static_cast<std::uint8_t>(at);
  }
  return begin;
}
constexpr Letters kLetters = letters();

void take(std::string_view word, PageHints& hints) {
  const auto letter = static_cast<std::size_t>(word[0] - 'a');
  for (std::size_t i = kLetters[letter]; i < kLetters[letter + 1]; ++i) {
    const Hint& hint = kHints[i];
    const bool is_it = hint.as == As::Word ? word == hint.word : word.starts_with(hint.word);
    if (!is_it) continue;
    hints.unlikely = hints.unlikely || hint.says == Says::Unlikely;
    hints.negative = hints.negative || hint.says != Says::Positive;
    hints.positive = hints.positive || hint.says == Says::Positive;
  }
}

bool is_letter(char c) {
  return c >= 'a' && c <= 'z';
}

bool is_unlikely_role(std::string_view role) {
  constexpr std::string_view kRoles[] = {"navigation",  "banner", "contentinfo", "complementary",
                                         "search",      "menu",   "menubar",     "dialog",
                                         "alertdialog", "alert",  "toolbar",     "tablist"};
  for (const std::string_view known : kRoles) {
    if (role == known) return true;
  }
  return false;
}

// An id that is made of a heading's words says nothing about what is below it.
bool is_sentence(std::string_view id) {
  return std::ranges::count_if(id, [](char c) { return c == '-' || c == '_'; }) > 3;
}

void take_names(std::string_view names, PageHints& hints) {
  char word[kWordBytesMax];
  std::size_t length = 0;
  bool was_small = false;
  const auto end_word = [&] {
    if (length > 0) take({word, length}, hints);
    length = 0;
  };
  for (const char c : names.substr(0, kNamesBytesMax)) {
    const char small = lower_ascii(c);
    if (!is_letter(small)) {
      end_word();
      was_small = false;
      continue;
    }
    if (small != c && was_small) end_word();
    was_small = small == c;
    if (length < kWordBytesMax) word[length++] = small;
  }
  end_word();
}

}  // namespace

PageHints hints_of_names(std::string_view names) {
  PageHints hints;
  take_names(names, hints);
  return hints;
}

PageHints hints_of(const GumboElement& element) {
  PageHints hints;
  for (unsigned i = 0; i < element.attributes.length; ++i) {
    const auto& attribute = *static_cast<const GumboAttribute*>(element.attributes.data[i]);
    const std::string_view name = attribute.name;
    if (name == "class" || (name == "id" && !is_sentence(attribute.value))) {
      take_names(attribute.value, hints);
    } else if (name == "role") {
      hints.unlikely = hints.unlikely || is_unlikely_role(attribute.value);
    }
  }
  return hints;
}

}  // namespace quern::worker
