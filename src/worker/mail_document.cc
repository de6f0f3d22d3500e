#include "worker/mail_document.h"

#include <algorithm>
#include <array>

namespace quern::worker {
namespace {

constexpr std::size_t kWordsMax = 100'000;
// Of a tag that names a charset, and of a Content-ID.
constexpr std::size_t kTagBytesMax = 1024;
constexpr std::size_t kContentIdBytesMax = 512;
constexpr std::array kShownFields = {"From",       "To",      "Cc",           "Bcc",    "Reply-To",
                                     "Date",       "Subject", "Start",        "End",    "Location",
                                     "Name",       "Company", "Job",          "Email",  "Phone",
                                     "Home phone", "Mobile",  "Work address", "Address"};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

// Of `word`, which is in small letters.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from) {
  const auto same = [](char a, char b) { return lower(a) == b; };
  if (from >= text.size()) return std::string_view::npos;
  const auto found = std::search(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(),
                                 word.begin(), word.end(), same);
  return found == text.end() ? std::string_view::npos
                             : static_cast<std::size_t>(found - text.begin());
}

// The position behind the first tag of that name; 0 where there is none.
std::size_t behind_tag(std::string_view html, std::string_view tag) {
  for (std::size_t at = find_word(html, tag, 0); at != std::string_view::npos;
       at = find_word(html, tag, at + 1)) {
    const char next = at + tag.size() < html.size() ? html[at + tag.size()] : '>';
    if (next != '>' && next != ' ' && next != '\n' && next != '\r' && next != '\t') continue;
    const std::size_t end = html.find('>', at);
    return end == std::string_view::npos ? 0 : end + 1;
  }
  return 0;
}

// The text is UTF-8 now, whatever the page says of itself.
std::string without_charsets(std::string_view html) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = find_word(html, "<meta", 0); at != std::string_view::npos;
       at = find_word(html, "<meta", std::max(at + 1, done))) {
    const std::string_view tag = html.substr(at, kTagBytesMax);
    const std::size_t end = tag.find('>');
    if (end == std::string_view::npos) continue;
    if (find_word(tag.substr(0, end), "charset", 0) == std::string_view::npos) continue;
    result += html.substr(done, at - done);
    done = at + end + 1;
  }
  result += html.substr(done);
  return result;
}

// Behind "cid:".
std::string_view content_id_at(std::string_view html, std::size_t at) {
  const std::string_view rest = html.substr(at + 4, kContentIdBytesMax);
  return rest.substr(0, rest.find_first_of("\"'<> \t\r\n)"));
}

std::vector<MailField> shown_lines(const MailMessage& message,
                                   const std::vector<std::string>& attachment_names) {
  std::vector<MailField> lines;
  for (const char* name : kShownFields) {
    std::string value = message.shown_field(name);
    if (!value.empty()) lines.push_back({name, std::move(value)});
  }
  std::string names;
  for (const std::string& name : attachment_names) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty()) lines.push_back({"Attachments", std::move(names)});
  return lines;
}

std::string html_head(const std::vector<MailField>& lines) {
  std::string head = "<div>";
  for (const MailField& line : lines) {
    head += "<b>" + line.name + ":</b> " + html_escaped(line.value) + "<br>\n";
  }
  return head + "</div>\n<hr>\n";
}

std::string with_pictures(std::string_view html, const Pictures& pictures) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = find_word(html, "cid:", 0);
       at != std::string_view::npos && result.size() < kShownPicturesBytesMax;
       at = find_word(html, "cid:", std::max(at + 1, done))) {
    const std::string_view id = content_id_at(html, at);
    const auto found = pictures.find(std::string(id));
    if (found == pictures.end()) continue;
    result += html.substr(done, at - done);
    result += found->second;
    done = at + 4 + id.size();
  }
  result += html.substr(done);
  return result;
}

std::string html_document(const std::string& head, std::string_view body) {
  const std::string html = without_charsets(body);
  constexpr std::string_view kCharset = "<meta charset=\"utf-8\">";
  std::size_t at = behind_tag(html, "<head");
  if (at == 0) at = behind_tag(html, "<html");
  const std::size_t body_at = std::max(at, behind_tag(html, "<body"));
  if (at == 0 && body_at == 0) {
    return "<!DOCTYPE html>\n<html><head>" + std::string(kCharset) + "</head><body>\n" + head +
           html + "\n</body></html>\n";
  }
  return html.substr(0, at) + std::string(kCharset) + html.substr(at, body_at - at) + head +
         html.substr(body_at);
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string html_of_text(std::string_view text) {
  return "<div style=\"white-space:pre-wrap\">" + html_escaped(text) + "</div>\n";
}

std::string unflowed(std::string_view text, DeleteSpace delete_space) {
  std::string result;
  std::size_t open_depth = 0;
  bool open = false;  // the last line goes on
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t depth = std::min(line.find_first_not_of('>'), line.size());
    std::string_view rest = line.substr(depth);
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    const bool joins = open && depth == open_depth && rest != "-- ";
    if (!joins) {
      if (open) result += '\n';
      result += std::string(depth, '>') + (depth > 0 ? " " : "");
    }
    open = rest.ends_with(' ') && rest != "-- ";
    open_depth = depth;
    if (open && delete_space == DeleteSpace::Yes) rest.remove_suffix(1);
    result += rest;
    if (!open) result += '\n';
  }
  return result;
}

std::set<std::string> shown_content_ids(std::string_view html) {
  std::set<std::string> ids;
  for (std::size_t at = find_word(html, "cid:", 0);
       at != std::string_view::npos && ids.size() < kMailPartsMax;
       at = find_word(html, "cid:", at + 1)) {
    ids.emplace(content_id_at(html, at));
  }
  return ids;
}

bool is_blank_html(std::string_view html) {
  bool in_tag = false;
  for (std::size_t at = 0; at < html.size(); ++at) {
    if (in_tag) {
      in_tag = html[at] != '>';
    } else if (html[at] == '<') {
      if (find_word(html.substr(at, 4), "<img", 0) == 0) return false;
      in_tag = true;
    } else if (static_cast<unsigned char>(html[at]) > ' ') {
      if (find_word(html.substr(at, 6), "&nbsp;", 0) != 0) return false;
      at += 5;
    }
  }
  return true;
}

// Runs of letters and digits; those with other letters are left out, since pages may write them as
// entities.
Words words_of(std::string_view text) {
  Words words;
  std::string word;
  bool plain = true;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const auto c = static_cast<unsigned char>(i < text.size() ? text[i] : ' ');
    const bool letter = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    if (letter || c >= 0x80) {
      word += lower(static_cast<char>(c));
      plain = plain && letter;
      continue;
    }
    if (plain && word.size() > 2 && words.size() < kWordsMax) words.insert(word);
    word.clear();
    plain = true;
  }
  return words;
}

bool says_other_things(std::string_view text, const Words& known, News news) {
  const Words words = words_of(text);
  const auto is_new = [&known](const std::string& word) { return !known.contains(word); };
  const auto count = static_cast<std::size_t>(std::count_if(words.begin(), words.end(), is_new));
  return count > 0 && (news == News::Any || count * 2 >= words.size());
}

MailDocument mail_document(const MailMessage& message,
                           const std::vector<std::string>& attachment_names,
                           const Pictures& pictures) {
  const std::vector<MailField> lines = shown_lines(message, attachment_names);
  if (!message.html.empty()) {
    std::string body = with_pictures(message.html, pictures);
    return {"text/html", html_document(html_head(lines), body)};
  }
  std::string text;
  for (const MailField& line : lines) text += line.name + ": " + line.value + "\n";
  if (!text.empty() && !message.text.empty()) text += "\n";
  return {"text/plain", text + message.text};
}

}  // namespace quern::worker
