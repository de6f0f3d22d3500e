#include "search/letter.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <string>

#include "base/check.h"

namespace quern::search {
namespace {

constexpr char32_t kZeroWidthSpace = 0x200b;
constexpr char32_t kTatweel = 0x0640;
constexpr char32_t kVoiced = 0x3099;
constexpr char32_t kHalfVoiced = 0x309a;
constexpr char32_t kLongVowel = 0x30fc;
constexpr char16_t kApostrophes[] = {u'\'', 0x2018, 0x2019, 0x02bc, 0xff07, 0x05f3, 0x05f4};

// Letters with a stroke have no accent to drop, yet people leave the stroke out.
struct Stroked {
  char32_t from;
  char32_t first;
  char32_t second;
};
constexpr Stroked kStroked[] = {
    {0x00e6, 'a', 'e'}, {0x00f0, 'd', 0}, {0x00f8, 'o', 0}, {0x00fe, 't', 'h'},
    {0x0111, 'd', 0},   {0x0127, 'h', 0}, {0x0142, 'l', 0}, {0x0153, 'o', 'e'},
    {0x0167, 't', 0},   {0x0180, 'b', 0}, {0x01e5, 'g', 0},
};

const UNormalizer2* normalizer(const UNormalizer2* (*get)(UErrorCode*)) {
  UErrorCode error = U_ZERO_ERROR;
  const UNormalizer2* found = get(&error);
  CHECK(U_SUCCESS(error));  // its data are compiled into the library
  return found;
}

std::u16string normalized(const UNormalizer2* by, const std::u16string& text) {
  std::u16string out(4 * kFoldedMax, u'\0');
  UErrorCode error = U_ZERO_ERROR;
  const std::int32_t size =
      unorm2_normalize(by, text.data(), static_cast<std::int32_t>(text.size()), out.data(),
                       static_cast<std::int32_t>(out.size()), &error);
  out.resize(U_SUCCESS(error) ? static_cast<std::size_t>(size) : 0);
  return out;
}

std::u16string decomposed(char32_t character) {
  static const UNormalizer2* const fold = normalizer(unorm2_getNFKCCasefoldInstance);
  static const UNormalizer2* const split = normalizer(unorm2_getNFKDInstance);
  std::u16string one;
  if (U_IS_SUPPLEMENTARY(character)) one += static_cast<char16_t>(U16_LEAD(character));
  one += static_cast<char16_t>(U_IS_SUPPLEMENTARY(character) ? U16_TRAIL(character) : character);
  return normalized(split, normalized(fold, one));
}

UScriptCode script_of(char32_t character) {
  UErrorCode error = U_ZERO_ERROR;
  return uscript_getScript(static_cast<UChar32>(character), &error);
}

bool is_voicing(char32_t character) {
  return character == kVoiced || character == kHalfVoiced;
}

// Where marks are accents or vowels that writers leave out. In Indic scripts they are half the
// word.
bool is_accent(char32_t character) {
  if ((U_GET_GC_MASK(static_cast<UChar32>(character)) & (U_GC_MN_MASK | U_GC_ME_MASK)) == 0 ||
      is_voicing(character)) {
    return false;
  }
  switch (script_of(character)) {
    case USCRIPT_INHERITED:
    case USCRIPT_COMMON:
    case USCRIPT_LATIN:
    case USCRIPT_GREEK:
    case USCRIPT_CYRILLIC:
    case USCRIPT_ARABIC:
    case USCRIPT_HEBREW:
    case USCRIPT_SYRIAC:
      return true;
    default:
      return false;
  }
}

bool is_pairing(char32_t character) {
  switch (script_of(character)) {
    case USCRIPT_HAN:
    case USCRIPT_HIRAGANA:
    case USCRIPT_KATAKANA:
    case USCRIPT_KATAKANA_OR_HIRAGANA:
    case USCRIPT_THAI:
    case USCRIPT_LAO:
    case USCRIPT_KHMER:
    case USCRIPT_MYANMAR:
      return true;
    default:
      return character == kLongVowel;
  }
}

bool is_apostrophe(char32_t character) {
  return std::ranges::find(kApostrophes, character) != std::end(kApostrophes);
}

bool is_emoji(char32_t character) {
  constexpr char32_t kTradeMark = 0x2122;
  const auto point = static_cast<UChar32>(character);
  return character > 0x2100 && character != kTradeMark && u_charType(point) == U_OTHER_SYMBOL &&
         u_hasBinaryProperty(point, UCHAR_EMOJI) != 0;
}

void append(Letter& letter, char32_t character) {
  if (letter.size > 0) {
    if (const char32_t both = composed(letter.to[letter.size - 1], character); both != 0) {
      letter.to[letter.size - 1] = both;
      return;
    }
  }
  if (letter.size < kFoldedMax) letter.to[letter.size++] = character;
}

// One piece of a decomposition; false where it belongs into no word.
bool append_folded(Letter& letter, char32_t piece) {
  const auto point = static_cast<UChar32>(piece);
  if (is_accent(piece) || is_apostrophe(piece) || piece == kTatweel) return true;
  if ((U_GET_GC_MASK(point) & (U_GC_L_MASK | U_GC_N_MASK | U_GC_M_MASK)) == 0) return false;
  if (u_charType(point) == U_DECIMAL_DIGIT_NUMBER) {
    append(letter, U'0' + static_cast<char32_t>(u_charDigitValue(point)));
    return true;
  }
  const auto* stroked = std::ranges::find(kStroked, piece, &Stroked::from);
  if (stroked == std::end(kStroked)) {
    append(letter, piece);
    return true;
  }
  append(letter, stroked->first);
  if (stroked->second != 0) append(letter, stroked->second);
  return true;
}

bool is_digit(char32_t character) {
  return character >= U'0' && character <= U'9';
}

Letter::Kind settle_kind(Letter& letter) {
  auto* const first = letter.to.begin();
  auto* last = first + letter.size;
  if (letter.size == 0 || is_voicing(*first)) return Letter::Kind::Dropped;
  if (std::all_of(first, last, is_pairing)) return Letter::Kind::Pairing;
  // Both in one square ("㏠", the first of a month): its number.
  last = std::remove_if(first, last, is_pairing);
  letter.size = static_cast<std::uint8_t>(last - first);
  return std::all_of(first, last, is_digit) ? Letter::Kind::Digit : Letter::Kind::Letter;
}

Letter fold_word_letter(char32_t character, bool is_number) {
  Letter letter;
  letter.from = character;
  const std::u16string pieces = decomposed(character);
  bool whole = true;
  for (std::size_t at = 0; at < pieces.size();) {
    UChar32 piece = 0;
    U16_NEXT(pieces.data(), at, pieces.size(), piece);
    whole = append_folded(letter, static_cast<char32_t>(piece)) && whole;
  }
  // One half, or a number in brackets: not the number that its digits would make.
  if (is_number && !whole) {
    letter.size = 0;
    letter.kind = Letter::Kind::Gap;
  } else {
    letter.kind = settle_kind(letter);
  }
  return letter;
}

}  // namespace

Letter fold_letter(char32_t character) {
  Letter letter;
  letter.from = character;
  if (character > 0x10ffff || character == kZeroWidthSpace) return letter;
  const auto point = static_cast<UChar32>(character);
  if (is_apostrophe(character)) {
    letter.kind = Letter::Kind::Apostrophe;
    return letter;
  }
  if (character == kTatweel ||
      u_hasBinaryProperty(point, UCHAR_DEFAULT_IGNORABLE_CODE_POINT) != 0) {
    letter.kind = Letter::Kind::Dropped;
    return letter;
  }
  if (is_emoji(character)) {
    letter.kind = Letter::Kind::Symbol;
    letter.size = 1;
    letter.to[0] = character;
    return letter;
  }
  const std::uint32_t category = U_GET_GC_MASK(point);
  // Units and eras in one square ("㎏") are symbols to Unicode and words to readers.
  const bool is_squared = character >= 0x3300 && character <= 0x33ff;
  if ((category & (U_GC_L_MASK | U_GC_N_MASK | U_GC_M_MASK)) == 0 && !is_squared) return letter;
  return fold_word_letter(character, (category & U_GC_N_MASK) != 0);
}

char32_t composed(char32_t first, char32_t second) {
  static const UNormalizer2* const join = normalizer(unorm2_getNFCInstance);
  constexpr char32_t kJamoFirst = 0x1161;
  constexpr char32_t kJamoLast = 0x11c2;
  if (!is_voicing(second) && (second < kJamoFirst || second > kJamoLast)) return 0;
  const UChar32 both =
      unorm2_composePair(join, static_cast<UChar32>(first), static_cast<UChar32>(second));
  return both < 0 ? 0 : static_cast<char32_t>(both);
}

std::size_t write_utf8(char32_t character, char* to) {
  std::size_t size = 0;
  auto* bytes = reinterpret_cast<unsigned char*>(to);
  U8_APPEND_UNSAFE(bytes, size, character);
  return size;
}

}  // namespace quern::search
