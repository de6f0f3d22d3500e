#include "worker/flat_sheet.h"

#include <algorithm>
#include <charconv>

namespace quern::worker {
namespace {

constexpr std::size_t kLookBytes = 4096;
constexpr std::size_t kNumberBytesMax = 15;  // digits that a sheet keeps

constexpr std::string_view kHead =
    R"(<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0")"
    R"( xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0")"
    R"( xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" office:version="1.2")"
    R"( office:mimetype="application/vnd.oasis.opendocument.spreadsheet">)"
    R"(<office:body><office:spreadsheet><table:table table:name="Table">)";
constexpr std::string_view kTail =
    "</table:table></office:spreadsheet></office:body></office:document>\n";

void append_escaped(std::string& xml, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '<':
        xml += "&lt;";
        break;
      case '>':
        xml += "&gt;";
        break;
      case '&':
        xml += "&amp;";
        break;
      case '\n':
        xml += "</text:p><text:p>";
        break;
      default:
        // Other controls are not allowed in XML at all.
        xml += static_cast<unsigned char>(c) < ' ' && c != '\t' ? ' ' : c;
    }
  }
}

// Only what looks the same again when a sheet shows it: no leading zeros, no exponents.
bool is_plain_number(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || digits.size() > kNumberBytesMax) return false;
  if (digits.size() > 1 && digits[0] == '0' && digits[1] != '.') return false;
  return std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
}

void append_cell(std::string& xml, std::string_view text) {
  if (text.empty()) {
    xml += "<table:table-cell/>";
    return;
  }
  if (is_plain_number(text)) {
    xml += R"(<table:table-cell office:value-type="float" office:value=")";
    xml += text;
    xml += R"("><text:p>)";
  } else {
    xml += R"(<table:table-cell office:value-type="string"><text:p>)";
  }
  append_escaped(xml, text);
  xml += "</text:p></table:table-cell>";
}

class Reader {
 public:
  Reader(std::string_view text, char separator) : text_(text), separator_(separator) {}

  bool at_end() const { return at_ >= text_.size(); }
  // The next field; tells whether it was the last of its row.
  bool take(std::string& field) {
    field.clear();
    if (!at_end() && text_[at_] == '"') take_quoted(field);
    while (!at_end() && text_[at_] != separator_ && text_[at_] != '\n') field += text_[at_++];
    if (at_end()) return true;
    return text_[at_++] == '\n';
  }

 private:
  void take_quoted(std::string& field) {
    for (++at_; !at_end(); ++at_) {
      if (text_[at_] == '"') {
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') {
          ++at_;
          return;
        }
        ++at_;
      }
      field += text_[at_];
    }
  }

  std::string_view text_;
  char separator_;
  std::size_t at_ = 0;
};

}  // namespace

char separator_of(std::string_view text) {
  const std::string_view lines = text.substr(0, kLookBytes);
  char best = ',';
  std::ptrdiff_t most = 0;
  for (const char c : {',', ';', '\t', '|'}) {
    const auto count = std::count(lines.begin(), lines.end(), c);
    if (count <= most) continue;
    most = count;
    best = c;
  }
  return best;
}

FlatSheet flat_sheet(std::string_view text, char separator) {
  FlatSheet sheet;
  sheet.xml = kHead;
  Reader reader(text, separator);
  std::string field;
  std::size_t rows = 0;
  while (!reader.at_end()) {
    if (++rows > kSheetRowsMax) {
      sheet.was_cut = true;
      break;
    }
    sheet.xml += "<table:table-row>";
    std::size_t columns = 0;
    for (bool last = false; !last;) {
      last = reader.take(field);
      if (++columns <= kSheetColumnsMax) {
        append_cell(sheet.xml, field);
      } else {
        sheet.was_cut = true;
      }
    }
    sheet.xml += "</table:table-row>";
  }
  if (rows == 0) sheet.xml += "<table:table-row><table:table-cell/></table:table-row>";
  sheet.xml += kTail;
  return sheet;
}

}  // namespace quern::worker
