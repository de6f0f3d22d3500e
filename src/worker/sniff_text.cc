// What kind of text a text is.
#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "worker/sniff.h"
#include "worker/text_decode.h"

namespace quern::worker {
namespace {

constexpr std::size_t kLookBytes = 16 * 1024;
constexpr int kHeaderLinesMax = 400;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) { return lower(c); });
  return result;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n\f");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// "Name: value" with a name of letters, digits and dashes; the name, or "".
std::string_view header_name(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon > 76) return {};
  // The oldest mails have blanks before the colon.
  const std::string_view name = line.substr(0, line.find_last_not_of(' ', colon - 1) + 1);
  const auto allowed = [](char c) { return c > ' ' && c < 0x7F && c != ':'; };
  return std::all_of(name.begin(), name.end(), allowed) ? name : std::string_view();
}

// Those that hardly stand together in anything but a mail.
bool is_mail_header(std::string_view name) {
  constexpr std::array kNames = {"from",
                                 "to",
                                 "subject",
                                 "date",
                                 "message-id",
                                 "received",
                                 "mime-version",
                                 "return-path",
                                 "delivered-to",
                                 "cc",
                                 "bcc",
                                 "reply-to",
                                 "sender",
                                 "in-reply-to",
                                 "references",
                                 "content-type",
                                 "x-mailer",
                                 "envelope-to",
                                 "x-original-to",
                                 "thread-topic",
                                 "thread-index",
                                 "x-priority",
                                 "dkim-signature",
                                 "content-transfer-encoding",
                                 "authentication-results",
                                 "received-spf",
                                 "arc-seal",
                                 "list-id",
                                 "precedence",
                                 "x-received",
                                 "x-spam-status",
                                 "organization",
                                 "newsgroups",
                                 "path"};
  const std::string wanted = lower(name);
  return std::find(kNames.begin(), kNames.end(), wanted) != kNames.end();
}

struct Headers {
  int known = 0;
  int all = 0;
  std::string content_type;
  bool ended = false;    // by an empty line, or the end of what we see
  bool strange = false;  // a line that is none
};

Headers read_headers(std::string_view text) {
  Headers found;
  bool of_type = false;
  for (int i = 0; i < kHeaderLinesMax && !text.empty(); ++i) {
    const bool whole = text.find('\n') != std::string_view::npos;
    const std::string_view line = take_line(text);
    if (line.empty()) {
      found.ended = true;
      return found;
    }
    if ((line[0] == ' ' || line[0] == '\t') && found.all > 0) {
      if (of_type) found.content_type += line;
      continue;
    }
    const std::string_view name = header_name(line);
    if (name.empty()) {
      found.strange = whole;
      return found;
    }
    ++found.all;
    found.known += is_mail_header(name) ? 1 : 0;
    of_type = lower(name) == "content-type";
    if (of_type) found.content_type = lower(line);
  }
  found.ended = true;
  return found;
}

bool is_envelope(std::string_view line) {
  return line.starts_with("From ") && line.find(':') != std::string_view::npos;
}

std::optional<std::string> mail_type(std::string_view text, std::string_view suffix) {
  std::string_view rest = text;
  const std::string_view first = take_line(rest);
  if (is_envelope(first)) {
    const Headers headers = read_headers(rest);
    const bool mail = headers.known >= 1 && !headers.strange;
    // One message that was taken out of its box.
    if (mail && suffix == "eml") return "message/rfc822";
    if (mail || suffix == "mbox") return "application/mbox";
  }
  // Apple's: the length of the message in the first line.
  const std::string_view digits = first.substr(0, first.find_last_not_of(' ') + 1);
  const bool is_number =
      !digits.empty() && digits.size() < 12 &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (is_number && begins_with_mail(rest)) return "message/x-emlx";
  if (!begins_with_mail(text)) {
    const bool named = suffix == "eml" || suffix == "emlx" || suffix == "mht" || suffix == "mhtml";
    const Headers headers = read_headers(without_blanks(text));
    if (!named || headers.known == 0) return std::nullopt;
  }
  const Headers headers = read_headers(text);
  const bool saved_page = suffix == "mht" || suffix == "mhtml";
  if (saved_page && headers.content_type.find("multipart/related") != std::string::npos) {
    return "multipart/related";
  }
  return "message/rfc822";
}

// The name of the first element, behind declaration, comments and doctype; with its attributes.
std::string_view root_element(std::string_view text) {
  for (int i = 0; i < 50; ++i) {
    text = without_blanks(text);
    if (!text.starts_with("<")) return {};
    std::size_t end = std::string_view::npos;
    if (text.starts_with("<?")) {
      end = text.find("?>");
      end = end == std::string_view::npos ? end : end + 2;
    } else if (text.starts_with("<!--")) {
      end = text.find("-->");
      end = end == std::string_view::npos ? end : end + 3;
    } else if (text.starts_with("<!")) {
      end = text.find_first_of(">[");
      if (end != std::string_view::npos && text[end] == '[') end = text.find("]>");
      end = end == std::string_view::npos ? end : text.find('>', end) + 1;
    } else {
      return text.substr(1, text.find('>'));
    }
    if (end == std::string_view::npos) return {};
    text.remove_prefix(std::min(end, text.size()));
  }
  return {};
}

std::string_view local_name(std::string_view element) {
  const std::string_view name = element.substr(0, element.find_first_of(" \t\r\n/>"));
  const std::size_t colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

std::string flat_document_type(std::string_view element) {
  constexpr std::string_view kPrefix = "office:mimetype=\"";
  const std::size_t at = element.find(kPrefix);
  if (at == std::string_view::npos) return "application/xml";
  const std::string_view rest = element.substr(at + kPrefix.size());
  return std::string(rest.substr(0, rest.find('"'))) + "-flat-xml";
}

std::optional<std::string> xml_type(std::string_view text, std::string_view suffix) {
  const bool declared = text.starts_with("<?xml");
  const std::string_view element = root_element(text);
  const std::string_view name = local_name(element);
  if (name == "html" && declared) {
    return element.find("http://www.w3.org/1999/xhtml") != std::string_view::npos &&
                   suffix != "html" && suffix != "htm"
               ? "application/xhtml+xml"
               : "text/html";
  }
  if (name == "svg") return "image/svg+xml";
  if (name == "FictionBook") return "application/x-fictionbook+xml";
  if (name == "document" && element.starts_with("office:")) return flat_document_type(element);
  if (name == "wordDocument") return "application/msword";
  if (name == "Workbook" && element.find("office:spreadsheet") != std::string_view::npos) {
    return "application/vnd.ms-excel";
  }
  if (name == "abiword") return "application/x-abiword";
  // Called plain XML, they are that.
  if (suffix != "xml" && name == "rss") return "application/rss+xml";
  if (suffix != "xml" && name == "feed") return "application/atom+xml";
  if (text.find("DTD DITA") < kLookBytes) return "application/dita+xml";
  if (name == "MD_Metadata") return "text/iso19139+xml";
  if (name == "kml") return "application/vnd.google-earth.kml+xml";
  if (name == "tt" && declared) return "application/ttml+xml";
  return declared ? std::optional<std::string>("application/xml") : std::nullopt;
}

// None that documents of other kinds begin with.
bool is_html_tag(std::string_view name) {
  constexpr std::array kTags = {"html", "head",   "body",     "meta",   "script", "style", "div",
                                "p",    "span",   "table",    "tr",     "td",     "ul",    "ol",
                                "li",   "h1",     "h2",       "h3",     "h4",     "a",     "br",
                                "b",    "i",      "em",       "strong", "font",   "img",   "pre",
                                "form", "center", "frameset", "iframe", "hr",     "dl",    "tt"};
  const std::string wanted = lower(name);
  return std::find(kTags.begin(), kTags.end(), wanted) != kTags.end();
}

// The beginning of a page, or a piece of one: a known tag first and an end tag later.
bool looks_like_html(std::string_view text) {
  const std::string look = lower(text.substr(0, kLookBytes));
  if (without_blanks(look).starts_with("<!doctype html")) return true;
  const std::string_view element = root_element(text);
  const std::string_view name = element.substr(0, element.find_first_of(" \t\r\n/>"));
  if (lower(name) == "html") return true;
  if (is_html_tag(name)) return look.find("</") != std::string::npos || lower(name) == "meta";
  // Words first, as in the answer of a server: only a page's own tags count then.
  return look.find("<html") != std::string::npos && look.find("<body") != std::string::npos;
}

std::optional<std::string> by_first_words(std::string_view text) {
  struct Words {
    std::string_view words;
    std::string_view type;
  };
  constexpr std::array kWords = {
      Words{"BEGIN:VCARD", "text/vcard"},
      Words{"BEGIN:VCALENDAR", "text/calendar"},
      Words{"WEBVTT", "text/vtt"},
      Words{"%!PS", "application/postscript"},
      Words{"%0 ", "application/x-endnote-refer"},
      Words{"%A ", "application/x-endnote-refer"},
      Words{"#!/bin/sh", "application/x-shellscript"},
      Words{"#!/bin/bash", "application/x-shellscript"},
      Words{"#EXTM3U", "audio/x-mpegurl"},
      Words{"-----BEGIN PGP MESSAGE", "application/pgp-encrypted"},
      Words{"-----BEGIN PGP PUBLIC KEY", "application/pgp-keys"},
      Words{"<?php", "application/x-php"},
      Words{"StartFontMetrics", "application/x-font-adobe-metric"},
  };
  for (const Words& words : kWords) {
    if (text.starts_with(words.words)) return std::string(words.type);
  }
  return std::nullopt;
}

bool looks_like_json(std::string_view text) {
  const char first = text.empty() ? '\0' : text[0];
  if (first != '{' && first != '[') return false;
  const std::string_view next = without_blanks(text.substr(1));
  if (next.empty()) return false;
  return first == '{'
             ? next[0] == '"' || next[0] == '}'
             : std::string_view("{[]\"-0123456789tfn").find(next[0]) != std::string_view::npos;
}

}  // namespace

bool begins_with_mail(std::string_view text) {
  const Headers headers = read_headers(text);
  if (headers.strange || headers.all == 0) return false;
  return headers.known >= 2 && headers.known * 3 >= headers.all;
}

bool looks_like_text(std::string_view head) {
  if (head.empty()) return false;
  if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF")) return head.size() >= 4;
  if (head.find('\0') != std::string_view::npos) return looks_like_utf16(head);
  const auto is_control = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 &&
           std::string_view("\t\n\r\f\v\b\x1B\x1A").find(c) == std::string_view::npos;
  };
  const auto controls = std::count_if(head.begin(), head.end(), is_control);
  if (head.size() - valid_utf8_prefix(head) < 4)
    return controls * 50 <= static_cast<long>(head.size());
  return controls == 0;
}

std::optional<std::string> sniff_text(std::string_view head, std::string_view suffix) {
  const std::string decoded = decode_text(head, kHeadBytes).text;
  const std::string_view text = without_blanks(decoded);
  if (auto type = by_first_words(text)) return type;
  if (auto type = mail_type(decoded, suffix)) return type;
  if (auto type = xml_type(text, suffix)) return type;
  if (looks_like_html(text)) return "text/html";
  if (looks_like_json(text) && (suffix == "json" || suffix.empty())) return "application/json";
  return std::nullopt;
}

}  // namespace quern::worker
