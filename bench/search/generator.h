// Documents with the statistics of natural text, the same for the same seed and number.
//
// Words are made up; how often each comes follows Zipf and Mandelbrot. A document has a few words
// of its own that come again and again, as texts do, and a length that is log-normal.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "search/pack_builder.h"

namespace quern::bench {

inline constexpr std::size_t kVocabulary = 300'000;

class Generator {
 public:
  explicit Generator(std::uint64_t seed);

  // By how often it comes: 0 is the most frequent one.
  const std::string& word(std::size_t rank) const { return words_[rank]; }
  search::PackDocument document(std::int64_t number) const;

 private:
  std::size_t draw(std::mt19937_64& random) const;
  std::string sentence_text(std::mt19937_64& random, std::size_t words,
                            const std::vector<std::size_t>& own) const;

  std::uint64_t seed_;
  std::vector<std::string> words_;
  // Walker's aliases: a draw costs the same for any vocabulary.
  std::vector<double> keep_;
  std::vector<std::uint32_t> other_;
};

}  // namespace quern::bench
