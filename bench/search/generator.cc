#include "bench/search/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

namespace quern::bench {
namespace {

constexpr double kExponent = 1.07;
constexpr double kShift = 2.7;
constexpr double kLengthMedian = 118;  // with this spread, 150 words on average
constexpr double kLengthSpread = 0.7;
constexpr std::size_t kLengthMax = 3'000;
constexpr double kOwnShare = 0.12;  // of a text: the words that are its own
constexpr std::size_t kSentenceWords = 14;
constexpr std::int32_t kFirstDay = 12'784;  // 2005-01-01
constexpr std::int32_t kDays = 20 * 365;

constexpr std::array<const char*, 8> kTypes = {
    "application/pdf", "text/html",
    "message/rfc822",  "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "text/plain",      "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "image/png",       "application/vnd.ms-powerpoint"};

double part(std::mt19937_64& random) {
  return std::uniform_real_distribution<double>(0, 1)(random);
}

std::string make_word(std::mt19937_64& random, std::size_t rank) {
  constexpr std::string_view kOpen[] = {"b", "c", "d", "f", "g",  "h",  "l",  "m",  "n",  "p",
                                        "r", "s", "t", "v", "st", "tr", "pl", "ch", "gr", ""};
  constexpr std::string_view kVowel[] = {"a", "e", "i", "o", "u", "ea", "io", "ou"};
  constexpr std::string_view kEnd[] = {"", "", "n", "r", "s", "t", "l", "ng", "ck", "m"};
  constexpr std::string_view kForm[] = {"", "", "", "s", "ing", "ed", "er", "ly"};
  // Frequent words are short, and have one form.
  const std::size_t syllables = 1 + (rank > 20'000) + (rank > 200 && random() % 2 == 0);
  std::string word;
  for (std::size_t i = 0; i < syllables; ++i) {
    word += kOpen[random() % std::size(kOpen)];
    word += kVowel[random() % std::size(kVowel)];
    word += kEnd[random() % std::size(kEnd)];
  }
  return rank > 200 ? word.append(kForm[random() % std::size(kForm)]) : word;
}

std::vector<std::string> make_words(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::unordered_set<std::string> seen;
  std::vector<std::string> words;
  while (words.size() < kVocabulary) {
    std::string word = make_word(random, words.size());
    if (seen.contains(word)) word += make_word(random, 0);
    if (seen.insert(word).second) words.push_back(std::move(word));
  }
  return words;
}

}  // namespace

Generator::Generator(std::uint64_t seed)
    : seed_(seed), words_(make_words(seed)), keep_(kVocabulary, 1), other_(kVocabulary, 0) {
  std::vector<double> share(kVocabulary);
  double sum = 0;
  for (std::size_t i = 0; i < kVocabulary; ++i) {
    sum += share[i] = 1 / std::pow(static_cast<double>(i) + kShift, kExponent);
  }
  std::vector<std::uint32_t> small;
  std::vector<std::uint32_t> large;
  for (std::uint32_t i = 0; i < kVocabulary; ++i) {
    share[i] *= static_cast<double>(kVocabulary) / sum;
    (share[i] < 1 ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const std::uint32_t low = small.back();
    const std::uint32_t high = large.back();
    small.pop_back();
    keep_[low] = share[low];
    other_[low] = high;
    share[high] -= 1 - share[low];
    if (share[high] >= 1) continue;
    large.pop_back();
    small.push_back(high);
  }
}

std::size_t Generator::draw(std::mt19937_64& random) const {
  const std::size_t at = random() % kVocabulary;
  return part(random) < keep_[at] ? at : other_[at];
}

std::string Generator::sentence_text(std::mt19937_64& random, std::size_t words,
                                     const std::vector<std::size_t>& own) const {
  std::string text;
  bool begins = true;
  for (std::size_t i = 0; i < words; ++i) {
    const bool is_own = part(random) < kOwnShare;
    const std::size_t at = text.size();
    text += words_[is_own ? own[random() % own.size()] : draw(random)];
    if (begins) text[at] = static_cast<char>(text[at] - 'a' + 'A');
    begins = random() % kSentenceWords == 0;
    text += begins ? (random() % 4 == 0 ? ".\n" : ". ") : " ";
  }
  return text;
}

search::PackDocument Generator::document(std::int64_t number) const {
  std::mt19937_64 random(seed_ * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(number));
  std::vector<std::size_t> own;
  for (std::size_t i = 3 + random() % 6; i > 0; --i) {
    std::size_t rank = draw(random);
    while (rank < 200) rank = draw(random);
    own.push_back(rank);
  }
  const double normal = std::normal_distribution<double>(0, 1)(random);
  const double length = kLengthMedian * std::exp(kLengthSpread * normal);
  search::PackDocument document;
  document.file = number;
  document.job = 1 + number / 1000;
  document.title = sentence_text(random, 3 + random() % 6, own);
  document.filename = fmt::format("folder{}/{}{}.dat", number % 97, word(own[0]), number);
  document.author = word(1'000 + random() % 500) + " " + word(2'000 + random() % 5'000);
  document.type = kTypes[std::min(random() % 8, random() % 8)];
  document.day = kFirstDay + static_cast<std::int32_t>(random() % kDays);
  document.text = sentence_text(
      random, std::clamp<std::size_t>(static_cast<std::size_t>(length), 5, kLengthMax), own);
  return document;
}

}  // namespace quern::bench
