#include "fileset/cdx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "blob/digest.h"
#include "web/url.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;
using std::literals::operator""sv;

constexpr std::size_t kFields = 11;
constexpr std::size_t kDatetimeDigits = 14;
constexpr std::size_t kSha1Base32 = 32;
constexpr std::size_t kNumberDigitsMax = 18;
constexpr std::size_t kSurt = 0;
constexpr std::size_t kDatetime = 1;
constexpr std::size_t kUrl = 2;
constexpr std::size_t kMime = 3;
constexpr std::size_t kStatus = 4;
constexpr std::size_t kDigest = 5;
constexpr std::size_t kLength = 8;
constexpr std::size_t kOffset = 9;
constexpr std::size_t kPath = 10;
constexpr std::array<std::string_view, kFields> kNames = {
    "urlkey",   "timestamp",  "original", "mimetype", "statuscode", "digest",
    "redirect", "robotflags", "length",   "offset",   "filename"};

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::int64_t> number_of(std::string_view text) {
  if (!is_digits(text) || text.size() > kNumberDigitsMax) return std::nullopt;
  std::int64_t number = 0;
  for (const char c : text) number = number * 10 + (c - '0');
  return number;
}

int base32_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a';
  return c >= '2' && c <= '7' ? c - '2' + 26 : -1;
}

// Types of documents are told apart; all else is bytes.
std::string known_mime(std::string_view mime) {
  for (const std::string_view known :
       {"application/pdf"sv, "application/postscript"sv, "text/html"sv, "text/xml"sv}) {
    if (mime.starts_with(known)) return std::string(known);
  }
  return "application/octet-stream";
}

// The fields of a row by their number; an empty text where it has none of that name.
using Cells = std::array<std::string, kFields>;

bool is_capture(const Cells& cells, bool whole) {
  const std::string& digest = cells[kDigest];
  if (digest == "-" || digest == "error" || digest.starts_with("sha-256")) return false;
  if (!whole) return true;
  return cells[kLength] != "-" && cells[kOffset] != "-" && cells[kPath] != "-";
}

std::optional<int> status_of(const Cells& cells) {
  if (cells[kStatus] == "-" && cells[kUrl].starts_with("ftp://")) return 226;
  const std::optional<std::int64_t> number = number_of(cells[kStatus]);
  if (!number || *number > 999) return std::nullopt;
  return static_cast<int>(*number);
}

// Nothing where it is no capture; an error where it is no row.
Result<std::optional<CdxRow>> row_of(const Cells& cells, bool whole) {
  if (!is_capture(cells, whole)) return std::optional<CdxRow>();
  CdxRow row;
  row.surt = cells[kSurt];
  row.datetime = cells[kDatetime];
  row.url = cells[kUrl];
  row.mimetype = cells[kMime];
  row.status = status_of(cells);
  row.sha1b32 = cells[kDigest];
  row.warc_path = cells[kPath] == "-" ? "" : cells[kPath];
  const std::optional<std::string> hex = sha1_of_base32(row.sha1b32);
  if (row.datetime.size() != kDatetimeDigits || !is_digits(row.datetime) || row.url.empty() ||
      !hex) {
    return Error{Errc::Corrupt, fmt::format("a row of the index is no capture: {}", row.url)};
  }
  row.sha1hex = *hex;
  const std::optional<std::int64_t> length = number_of(cells[kLength]);
  const std::optional<std::int64_t> offset = number_of(cells[kOffset]);
  if (whole && (!length || !offset)) {
    return Error{Errc::Corrupt, fmt::format("a row of the index has no place: {}", row.url)};
  }
  row.warc_csize = length.value_or(0);
  row.warc_offset = offset.value_or(0);
  return std::optional<CdxRow>(std::move(row));
}

// Which of a row's texts is which field.
struct Layout {
  std::array<std::optional<std::size_t>, kFields> at;
  std::size_t size = 0;
  bool whole = false;  // all of them
};

Result<Layout> layout_of(const json::value& header, Compat compat) {
  const json::array* names = header.if_array();
  if (names == nullptr) return Error{Errc::Corrupt, "the index does not name its fields"};
  Layout layout;
  layout.size = names->size();
  for (std::size_t i = 0; i < names->size(); ++i) {
    const json::string* name = (*names)[i].if_string();
    if (name == nullptr) continue;
    const auto found = std::ranges::find(kNames, std::string_view(*name));
    if (found != kNames.end()) layout.at[static_cast<std::size_t>(found - kNames.begin())] = i;
  }
  layout.whole = std::ranges::all_of(layout.at, [](const auto& at) { return at.has_value(); });
  if (compat == Compat::Strict && (!layout.whole || layout.size != kFields)) {
    return Error{Errc::Corrupt, "the index does not give eleven fields; it wants a token"};
  }
  for (const std::size_t needed : {kDatetime, kUrl, kMime, kStatus, kDigest}) {
    if (!layout.at[needed]) {
      return Error{Errc::Corrupt, fmt::format("the index has no field {}", kNames[needed])};
    }
  }
  return layout;
}

Result<Cells> cells_of(const json::value& value, const Layout& layout) {
  const json::array* texts = value.if_array();
  if (texts == nullptr || texts->size() != layout.size) {
    return Error{Errc::Corrupt, fmt::format("a row of the index has not {} fields", layout.size)};
  }
  Cells cells;
  for (std::size_t field = 0; field < kFields; ++field) {
    if (!layout.at[field]) continue;
    const json::string* text = (*texts)[*layout.at[field]].if_string();
    if (text == nullptr) return Error{Errc::Corrupt, "a field of the index is no text"};
    cells[field] = std::string_view(*text);
  }
  return cells;
}

}  // namespace

json::object to_json(const CdxRow& row) {
  json::object object{{"surt", row.surt},       {"datetime", row.datetime},
                      {"url", row.url},         {"mimetype", row.mimetype},
                      {"sha1b32", row.sha1b32}, {"sha1hex", row.sha1hex}};
  if (row.status) {
    object["status_code"] = *row.status;
  } else {
    object["status_code"] = nullptr;
  }
  if (row.in_warc()) {
    object["warc_csize"] = row.warc_csize;
    object["warc_offset"] = row.warc_offset;
    object["warc_path"] = row.warc_path;
  }
  return object;
}

std::optional<std::string> sha1_of_base32(std::string_view base32) {
  if (base32.size() != kSha1Base32) return std::nullopt;
  std::string raw;
  unsigned bits = 0;
  unsigned count = 0;
  for (const char c : base32) {
    const int value = base32_value(c);
    if (value < 0) return std::nullopt;
    bits = (bits << 5 | static_cast<unsigned>(value)) & 0xFFFF;
    count += 5;
    if (count < 8) continue;
    count -= 8;
    raw += static_cast<char>(bits >> count & 0xFF);
  }
  return blob::hex_of(raw);
}

std::optional<CdxRow> parse_cdx_line(std::string_view line) {
  Cells cells;
  std::size_t field = 0;
  while (!line.empty()) {
    const std::size_t space = line.find(' ');
    const std::string_view text = line.substr(0, space);
    line.remove_prefix(space == std::string_view::npos ? line.size() : space + 1);
    if (text.empty()) continue;
    if (field < kFields) cells[field] = text;
    ++field;
  }
  if (field < kFields) return std::nullopt;
  for (const std::size_t key :
       {kSurt, kDatetime, kUrl, kMime, kStatus, kDigest, kLength, kOffset, kPath}) {
    if (cells[key] == "-" && key != kMime) return std::nullopt;
  }
  Result<std::optional<CdxRow>> row = row_of(cells, true);
  if (!row.ok() || !*row || !(*row)->status) return std::nullopt;
  (*row)->mimetype = known_mime((*row)->mimetype);
  return **std::move(row);
}

Result<std::vector<CdxRow>> parse_cdx_answer(std::string_view text, Compat compat) {
  boost::system::error_code failed;
  const json::value value = json::parse(text, failed);
  const json::array* list = failed ? nullptr : value.if_array();
  if (list == nullptr) return Error{Errc::Corrupt, "the index did not answer with a list"};
  std::vector<CdxRow> rows;
  if (list->empty()) return rows;
  if (list->size() > kCdxRowsMax + 1) {
    return over_limit("rows of the index", static_cast<std::int64_t>(list->size()), kCdxRowsMax,
                      "fileset.cdx_rows_max");
  }
  TRY_ASSIGN(const Layout layout, layout_of(list->front(), compat));
  for (std::size_t i = 1; i < list->size(); ++i) {
    TRY_ASSIGN(const Cells cells, cells_of((*list)[i], layout));
    TRY_ASSIGN(std::optional<CdxRow> row, row_of(cells, layout.whole));
    if (row) rows.push_back(*std::move(row));
  }
  return rows;
}

const CdxRow* best_row(const std::vector<CdxRow>& rows, const CdxWish& wish) {
  const auto rank = [&wish](const CdxRow& row) {
    const bool same_year =
        !wish.closest.empty() && wish.closest.substr(0, 4) == row.datetime.substr(0, 4);
    return std::tuple(row.url == wish.url, row.is_content(), -row.status.value_or(999),
                      !wish.mimetype.empty() && row.mimetype == wish.mimetype, !row.is_revisit(),
                      same_year, std::string_view(row.datetime), row.in_warc());
  };
  const CdxRow* best = nullptr;
  for (const CdxRow& row : rows) {
    if (best == nullptr || rank(*best) < rank(row)) best = &row;
  }
  return best;
}

bool same_page(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto key = [](std::string_view text) -> std::string {
    const Result<web::Url> url = web::Url::parse(text);
    if (!url.ok()) return std::string(text);
    std::string surt = web::surt(*url);
    if (surt.ends_with('/')) surt.pop_back();
    return surt;
  };
  return key(a) == key(b);
}

}  // namespace quern::fileset
