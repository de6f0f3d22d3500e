// XmlScanner: the tags and texts of an XML document, one after the other, however broken it is.
//
// Guarantee: nothing is fetched, no entity of the document's own is expanded, and no memory is used
// for what is not asked for; a document that breaks off gives what stood before. Names come without
// their prefix. Pure; the document must live longer.
#pragma once

#include <string>
#include <string_view>

namespace quern {

class XmlScanner {
 public:
  enum class Token { Open, Close, Text, End };

  explicit XmlScanner(std::string_view xml) : xml_(xml) {}

  Token next();

  // Of Open and Close.
  std::string_view name() const { return name_; }
  // What stands before the name's colon; "" where it has none.
  std::string_view prefix() const { return prefix_; }
  // Of Open: "<a/>" has no Close.
  bool is_empty() const { return is_empty_; }
  // Of Open: as it is meant, by its name without prefix; "" where it has none.
  std::string attribute(std::string_view name) const;
  // Of Text: as it is meant.
  std::string text() const;
  // Bytes up to the end of this token.
  std::size_t position() const { return at_; }

 private:
  Token take_text();
  Token take_data();
  Token take_tag();
  bool skip_past(std::string_view end);
  bool skip_declaration();
  std::size_t end_of_tag() const;

  std::string_view xml_;
  std::size_t at_ = 0;
  std::string_view name_;
  std::string_view prefix_;
  std::string_view attributes_;
  std::string_view text_;
  bool is_data_ = false;
  bool is_empty_ = false;
};

}  // namespace quern
