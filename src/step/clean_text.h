// TextCleaner: makes of any bytes a text that every store and reader can hold, as they come in.
//
// Guarantee: however the bytes are cut into pieces, the same text comes out: valid UTF-8, line ends
// are LF, no control characters but TAB and LF, at most so many characters.
// How: CR, CRLF and U+0085 become LF; other controls (C0, DEL, C1) a blank; each byte that is not
// part of a character U+FFFD; noncharacters (U+FFFE and the like) go. Unassigned characters stay:
// what is unassigned today is a letter in tomorrow's Unicode. At most 4 bytes are kept from piece
// to piece.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::step {

inline constexpr std::int64_t kTextCharactersMax = 10'000'000;

class TextCleaner {
 public:
  explicit TextCleaner(std::int64_t characters_max = kTextCharactersMax)
      : characters_max_(characters_max) {}

  // Appends what is certain by now.
  void feed(std::string_view bytes, std::string& out);
  // At the end of the text, once: what was kept is a character cut short.
  void finish(std::string& out);

  // Characters (code points) appended so far.
  std::int64_t characters() const { return characters_; }
  // Whether there was more than may stay.
  bool was_cut() const { return was_cut_; }

 private:
  void clean(std::string_view bytes, std::string& out);
  // Both return how many bytes they took.
  std::size_t append_plain(std::string_view bytes, std::string& out);
  std::size_t clean_one(std::string_view bytes, std::string& out);
  void append_cleaned(std::string_view character, std::string& out);
  void append(std::string_view character, std::string& out);

  std::int64_t characters_max_;
  std::int64_t characters_ = 0;
  bool was_cut_ = false;
  bool after_cr_ = false;  // an LF now belongs to the line end we have written
  std::string kept_;       // the beginning of a character
};

// The whole at once.
std::string clean_text(std::string_view bytes, std::int64_t characters_max = kTextCharactersMax);
// As much of a valid text as has at most so many bytes and ends with a whole character.
std::string_view cut_at_character(std::string_view text, std::size_t bytes_max);

}  // namespace quern::step
