#include "worker/web_page_language.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ascii.h"

namespace quern::worker {
namespace {

constexpr int kLettersMin = 60;
// Of the small words of one language: so many, in so many words, and so often those of the next.
constexpr int kSmallWordsMin = 5;
constexpr double kSmallWordsShare = 0.08;
constexpr double kLead = 1.4;

struct SmallWords {
  std::string_view language;
  std::string_view words;
};

// The most frequent ones that few neighbours have, too.
constexpr SmallWords kLanguages[] = {
    {"en", "the of and to is that it for was with as are this from by not have you be at or which"},
    {"de",
     "der die das und ist nicht von mit den ein eine zu auf für im dem des sich auch wird als"},
    {"fr",
     "le la les des et est dans que pour qui une pas sur du par avec plus ce sont aux cette il"},
    {"es", "el la los las de que y en es por con una para del se no como más pero su al lo fue"},
    {"it",
     "il di che è la per non una sono con del della nel gli anche più alla dei le come ha si"},
    {"pt",
     "o de que e do da em um para não uma com os no se na por mais as dos como mas ao foi são"},
    {"nl", "de het een van en is dat op te niet met voor zijn er aan door maar ook bij wordt naar"},
    {"sv", "och att det som en på är av för med till den inte har ett om var jag från men kan sig"},
    {"da", "og at det er en til på af for med den ikke der har som de et var jeg fra kan men blev"},
    {"nb", "og å det er en til på av for med den ikke som har de et var jeg fra kan men ble også"},
    {"fi", "ja on ei että se oli hän mutta niin kuin myös ovat joka mukaan kun olla sen tai vain"},
    {"pl", "i w na z się nie do to że jest o jak za od po przez dla ale są oraz może tego był"},
    {"cs", "a se v na je že s z do o i to jako za pro po ale jsou podle by jeho které také byl"},
    {"hu", "a az és hogy nem is egy ez volt meg de csak már mint ha még vagy el azt ki lehet"},
    {"ro", "și de în a la cu nu este care pe din un o pentru mai au fost ca să sunt prin dar"},
    {"tr", "ve bir bu için ile de da çok olarak daha olan gibi en ne kadar sonra var değil ancak"},
    {"id",
     "yang dan di dengan untuk dari ini itu pada tidak dalam adalah akan oleh juga ke karena"},
};

// Letters of one script, or of one language among those that share it.
enum Letter : std::size_t {
  Latin,
  Greek,
  Cyrillic,
  Hebrew,
  Arabic,
  Thai,
  Hangul,
  Kana,
  Han,
  Armenian,
  Georgian,
  Other,
  LetterKinds
};

Letter letter_of(std::uint32_t c) {
  if (c < 0x250) return Latin;
  if (c >= 0x370 && c < 0x400) return Greek;
  if (c >= 0x400 && c < 0x530) return Cyrillic;
  if (c >= 0x531 && c < 0x590) return Armenian;
  if (c >= 0x590 && c < 0x600) return Hebrew;
  if (c >= 0x600 && c < 0x700) return Arabic;
  if (c >= 0xE00 && c < 0xE80) return Thai;
  if (c >= 0x10A0 && c < 0x1100) return Georgian;
  if (c >= 0x1E00 && c < 0x1F00) return Latin;
  if (c >= 0x3040 && c < 0x3100) return Kana;
  if (c >= 0x3400 && c < 0xA000) return Han;
  if (c >= 0xAC00 && c < 0xD7A4) return Hangul;
  return Other;
}

bool is_letter(std::uint32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return c >= 0xC0 && c != 0xD7 && c != 0xF7 && !(c >= 0x2000 && c < 0x3040);
}

// The character at the front, which is taken; the text is valid UTF-8.
std::uint32_t take_character(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  std::uint32_t c = length == 1 ? lead : lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < std::min(length, text.size()); ++i) {
    c = c << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  }
  text.remove_prefix(std::min(length, text.size()));
  return c;
}

bool has(std::string_view text, std::initializer_list<std::string_view> letters) {
  return std::ranges::any_of(letters, [text](std::string_view letter) {
    return text.find(letter) != std::string_view::npos;
  });
}

// Languages that share letters are told apart by those that only some of them have.
std::string cyrillic_language(std::string_view text) {
  if (has(text, {"ў"})) return "be";
  if (has(text, {"ї", "є", "ґ"})) return has(text, {"ы", "э"}) ? "" : "uk";
  if (has(text, {"љ", "њ", "ђ", "ћ"})) return "sr";
  if (has(text, {"ѓ", "ќ", "ѕ"})) return "mk";
  if (has(text, {"ә", "ө", "ү", "қ", "ң", "ғ"})) return "";
  if (has(text, {"ы", "э"})) return "ru";
  return has(text, {"ъ"}) ? "bg" : "";
}

std::string arabic_language(std::string_view text) {
  if (has(text, {"ٹ", "ڈ", "ے"})) return "ur";
  return has(text, {"پ", "چ", "گ"}) ? "fa" : "ar";
}

// In the order of kLanguages: how often its words are there.
using Counts = std::array<int, std::size(kLanguages)>;
using Index = std::unordered_map<std::string_view, std::uint32_t>;

const Index& index() {
  static const Index made = [] {
    Index words;
    for (std::size_t i = 0; i < std::size(kLanguages); ++i) {
      std::string_view rest = kLanguages[i].words;
      for (auto word = take_word(rest); !word.empty(); word = take_word(rest)) {
        words[word] |= 1U << i;
      }
    }
    return words;
  }();
  return made;
}

std::string latin_language(const std::vector<std::string>& words) {
  Counts counts{};
  for (const std::string& word : words) {
    const auto known = index().find(word);
    if (known == index().end()) continue;
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += known->second >> i & 1;
  }
  const auto best = std::ranges::max_element(counts);
  int second = 0;
  for (auto it = counts.begin(); it != counts.end(); ++it) {
    if (it != best) second = std::max(second, *it);
  }
  const bool is_sure = *best >= kSmallWordsMin &&
                       *best >= kSmallWordsShare * static_cast<double>(words.size()) &&
                       *best >= kLead * second;
  return is_sure ? std::string(kLanguages[best - counts.begin()].language) : "";
}

// Where all letters are of one script, or nearly.
std::string by_script(const std::array<int, LetterKinds>& letters, int all, std::string_view text) {
  const auto most = [&](Letter letter) { return letters[letter] * 10 > all * 6; };
  const int eastern = letters[Han] + letters[Kana];
  if (eastern * 10 > all * 6) return letters[Kana] * 20 > eastern ? "ja" : "zh";
  if (most(Hangul)) return "ko";
  if (most(Greek)) return "el";
  if (most(Hebrew)) return "he";
  if (most(Thai)) return "th";
  if (most(Armenian)) return "hy";
  if (most(Georgian)) return "ka";
  if (most(Cyrillic)) return cyrillic_language(text);
  return most(Arabic) ? arabic_language(text) : "";
}

}  // namespace

std::string language_of(std::string_view text) {
  text = text.substr(0, kLanguageBytesMax);
  std::array<int, LetterKinds> letters{};
  int all = 0;
  std::vector<std::string> words(1);
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view before = rest;
    const std::uint32_t c = take_character(rest);
    if (!is_letter(c)) {
      if (!words.back().empty()) words.emplace_back();
      continue;
    }
    ++all;
    const Letter letter = letter_of(c);
    ++letters[letter];
    if (letter == Latin) {
      words.back() += lower_ascii(before.substr(0, before.size() - rest.size()));
    }
  }
  if (all < kLettersMin / (letters[Han] + letters[Kana] > 0 ? 3 : 1)) return "";
  if (letters[Latin] * 10 > all * 8) return latin_language(words);
  return by_script(letters, all, text);
}

}  // namespace quern::worker
