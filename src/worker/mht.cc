#include "worker/mht.h"

#include <algorithm>
#include <cctype>

#include "worker/base64.h"

namespace quern::worker {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Takes a line off the text, without its end.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Fields by their names in small letters; folded lines are one.
std::map<std::string, std::string> take_fields(std::string_view& text) {
  std::map<std::string, std::string> fields;
  std::string* last = nullptr;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (line.empty()) break;
    const std::size_t colon = line.find(':');
    if ((line[0] == ' ' || line[0] == '\t') && last != nullptr) {
      *last += " " + std::string(trimmed(line));
    } else if (colon != std::string_view::npos) {
      last = &fields[lower(line.substr(0, colon))];
      *last = trimmed(line.substr(colon + 1));
    }
  }
  return fields;
}

// Of "text/html; charset=x": the word behind the name.
std::string parameter(std::string_view field, std::string_view name) {
  const std::string small = lower(field);
  std::size_t at = small.find(std::string(name) + "=");
  if (at == std::string::npos) return "";
  at += name.size() + 1;
  const bool quoted = at < field.size() && field[at] == '"';
  if (quoted) ++at;
  const std::size_t end = field.find_first_of(quoted ? "\"" : "; \t", at);
  return std::string(field.substr(at, end == std::string_view::npos ? end : end - at));
}

int hex_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::string from_quoted_printable(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=') {
      bytes += text[i];
      continue;
    }
    const std::string_view rest = text.substr(i + 1);
    if (rest.starts_with("\r\n") || rest.starts_with("\n")) {
      i += rest[0] == '\r' ? 2 : 1;
    } else if (rest.size() >= 2 && hex_of(rest[0]) >= 0 && hex_of(rest[1]) >= 0) {
      bytes += static_cast<char>(hex_of(rest[0]) * 16 + hex_of(rest[1]));
      i += 2;
    } else {
      bytes += '=';
    }
  }
  return bytes;
}

std::string decoded(std::string_view body, const std::string& encoding) {
  if (encoding == "quoted-printable") return from_quoted_printable(body);
  if (encoding != "base64") return std::string(body);
  std::string letters;
  for (const char c : body) {
    if (static_cast<unsigned char>(c) > ' ') letters += c;
  }
  return base64_decoded(letters).value_or("");
}

class Reader {
 public:
  void take(std::string_view part, int depth) {
    if (depth > kMhtDepthMax || ++parts_ > kMhtPartsMax) return;
    auto fields = take_fields(part);
    const std::string& type_field = fields["content-type"];
    const std::string type = lower(trimmed(type_field.substr(0, type_field.find(';'))));
    const std::string boundary = parameter(type_field, "boundary");
    if (type.starts_with("multipart/") && !boundary.empty()) {
      take_parts(part, "--" + boundary, depth);
    } else if (type == "text/html" || type == "application/xhtml+xml") {
      if (found_) return;  // frames: the first page is the whole's
      found_ = true;
      archive_.html = decoded(part, lower(fields["content-transfer-encoding"]));
      archive_.charset = parameter(type_field, "charset");
    } else if (type.starts_with("image/")) {
      take_picture(fields, part);
    }
  }

  std::optional<WebArchive> finished() {
    if (!found_) return std::nullopt;
    return std::move(archive_);
  }

 private:
  void take_parts(std::string_view body, const std::string& delimiter, int depth) {
    std::string_view rest = body;
    const char* begin = nullptr;
    while (!rest.empty()) {
      const std::string_view line = next_line(rest);
      if (!line.starts_with(delimiter)) continue;
      if (begin != nullptr) take({begin, static_cast<std::size_t>(line.data() - begin)}, depth + 1);
      begin = rest.data();
      if (line.substr(delimiter.size()).starts_with("--")) return;
    }
    // Cut off: what there is of the last part.
    if (begin != nullptr) {
      take({begin, static_cast<std::size_t>(body.data() + body.size() - begin)}, depth + 1);
    }
  }

  void take_picture(std::map<std::string, std::string>& fields, std::string_view body) {
    if (bytes_ > kPicturesBytesMax) return;
    std::string bytes = decoded(body, lower(fields["content-transfer-encoding"]));
    bytes_ += bytes.size();
    std::string_view id = fields["content-id"];
    if (id.starts_with('<') && id.ends_with('>')) id = id.substr(1, id.size() - 2);
    if (!id.empty()) archive_.pictures.emplace("cid:" + std::string(id), bytes);
    const std::string& place = fields["content-location"];
    if (!place.empty()) archive_.pictures.emplace(place, std::move(bytes));
  }

  WebArchive archive_;
  bool found_ = false;
  std::size_t parts_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

std::optional<WebArchive> read_web_archive(std::string_view bytes) {
  Reader reader;
  reader.take(bytes, 0);
  return reader.finished();
}

}  // namespace quern::worker
