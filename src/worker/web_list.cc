#include "worker/web_list.h"

#include <zlib.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/web_date.h"
#include "base/xml_scanner.h"

namespace quern::worker {
namespace {

using Token = XmlScanner::Token;

// What is being read.
enum class Field { None, Address, Link, Id, Modified, Published, Frequency };

bool is_entry(std::string_view name) {
  return name == "url" || name == "sitemap" || name == "item" || name == "entry";
}

Field field_of_sitemap(std::string_view name) {
  if (name == "loc") return Field::Address;
  if (name == "lastmod") return Field::Modified;
  return name == "changefreq" ? Field::Frequency : Field::None;
}

Field field_of_feed(std::string_view name) {
  if (name == "link") return Field::Link;
  if (name == "guid" || name == "id") return Field::Id;
  if (name == "updated" || name == "modified") return Field::Modified;
  const bool is_date = name == "pubDate" || name == "date" || name == "published" ||
                       name == "issued" || name == "created";
  return is_date ? Field::Published : Field::None;
}

bool is_frequency(std::string_view word) {
  constexpr std::string_view kWords[] = {"always",  "hourly", "daily", "weekly",
                                         "monthly", "yearly", "never"};
  return std::ranges::find(kWords, word) != std::end(kWords);
}

bool is_web_address(std::string_view text) {
  return equals_ignoring_case(text.substr(0, 7), "http://") ||
         equals_ignoring_case(text.substr(0, 8), "https://");
}

class ListReader {
 public:
  ListReader(std::string_view xml, LinkList& list)
      : scanner_(xml), list_(list), is_feed_(list.kind == "feed") {}

  void run() {
    for (;;) {
      switch (scanner_.next()) {
        case Token::Open:
          open();
          break;
        case Token::Close:
          close(scanner_.name());
          break;
        case Token::Text:
          if (field_ != Field::None && value_.size() <= kXmlTextBytesMax) value_ += scanner_.text();
          break;
        case Token::End:
          end_entry();
          return;
      }
    }
  }

 private:
  void open() {
    const std::string_view name = scanner_.name();
    if (is_entry(name)) end_entry();
    const std::string_view parent = names_.empty() ? std::string_view() : names_.back();
    const bool is_inside = is_entry(parent) || parent == "channel" || parent == "feed";
    if (is_inside) begin_field(name, parent);
    // A field has no elements inside that concern us; below so many levels nothing does.
    if (!scanner_.is_empty() && names_.size() < kXmlDepthMax) names_.push_back(name);
  }

  void begin_field(std::string_view name, std::string_view parent) {
    if (is_feed_ && name == "link" && take_atom_link(parent)) return;
    if (is_feed_ && name == "enclosure" && is_entry(parent)) {
      list_.add({scanner_.attribute("url"), kRelEnclosure, "", ""});
      return;
    }
    field_ = is_feed_ ? field_of_feed(name) : field_of_sitemap(name);
    // Of a feed itself, only where it leads.
    if (!is_entry(parent) && field_ != Field::Link) field_ = Field::None;
    if (name == "guid") is_permanent_ = scanner_.attribute("isPermaLink") != "false";
    if (name == "id") is_permanent_ = false;
    if (scanner_.is_empty()) field_ = Field::None;
    field_name_ = name;
    value_.clear();
  }

  // <link rel="x" href="y"/>; false where it is a link as RSS has it.
  bool take_atom_link(std::string_view parent) {
    const std::string href = scanner_.attribute("href");
    if (href.empty()) return false;
    field_ = Field::None;
    const std::string rel = lower_ascii(scanner_.attribute("rel"));
    if (rel.empty() || rel == "alternate") {
      if (is_entry(parent)) {
        if (entry_.href.empty()) entry_.href = href;
      } else {
        list_.add({href, 0, "", ""});
      }
    } else if (rel == "enclosure") {
      list_.add({href, kRelEnclosure, "", ""});
    } else if (rel == "next" || rel == "prev" || rel == "previous" || rel == "prev-archive") {
      list_.add({href, rel == "next" ? kRelNext : kRelPrev, "", ""});
    }
    return true;
  }

  void close(std::string_view name) {
    if (field_ != Field::None && name == field_name_) end_field();
    if (is_entry(name)) end_entry();
    // What was left open inside of it ends with it; what was never opened ends nothing.
    const auto found = std::find(names_.rbegin(), names_.rend(), name);
    if (found != names_.rend()) names_.erase(std::next(found).base(), names_.end());
  }

  void end_field() {
    const std::string value(trimmed(value_));
    const Field field = std::exchange(field_, Field::None);
    if (value.size() > kXmlTextBytesMax) return;
    const bool is_of_entry = names_.size() >= 2 && is_entry(names_[names_.size() - 2]);
    switch (field) {
      case Field::Link:
        if (!is_of_entry) {
          list_.add({value, 0, "", ""});
          break;
        }
        [[fallthrough]];
      case Field::Address:
        if (entry_.href.empty()) entry_.href = value;
        break;
      case Field::Id:
        if (is_permanent_ && is_web_address(value)) id_ = value;
        break;
      case Field::Modified:
        entry_.lastmod = iso_date(value);
        break;
      case Field::Published:
        if (entry_.lastmod.empty()) entry_.lastmod = iso_date(value);
        break;
      case Field::Frequency:
        if (const std::string word = lower_ascii(value); is_frequency(word)) {
          entry_.changefreq = word;
        }
        break;
      case Field::None:
        break;
    }
  }

  void end_entry() {
    if (entry_.href.empty()) entry_.href = id_;
    if (!entry_.href.empty()) list_.add(std::move(entry_));
    entry_ = {};
    id_.clear();
    field_ = Field::None;
  }

  XmlScanner scanner_;
  LinkList& list_;
  bool is_feed_;
  std::vector<std::string_view> names_;
  Field field_ = Field::None;
  std::string_view field_name_;
  std::string value_;
  PageLink entry_;
  std::string id_;
  bool is_permanent_ = true;
};

// Of the first element; "" where none begins soon.
std::string_view first_name(std::string_view xml) {
  XmlScanner scanner(xml.substr(0, kListSniffBytes));
  for (;;) {
    const Token token = scanner.next();
    if (token == Token::Open) return scanner.name();
    if (token != Token::Text) return {};
  }
}

LinkList sitemap_list(const char* kind) {
  LinkList list({kSitemapLinksMax, kSitemapJsonBytesMax});
  list.kind = kind;
  return list;
}

}  // namespace

std::optional<LinkList> list_in_xml(std::string_view xml) {
  const std::string_view name = first_name(xml);
  LinkList list;
  if (name == "urlset") {
    list = sitemap_list("sitemap");
  } else if (name == "sitemapindex") {
    list = sitemap_list("sitemapindex");
  } else if (name == "rss" || name == "feed" || name == "RDF") {
    list.kind = "feed";
  } else {
    return std::nullopt;
  }
  ListReader(xml, list).run();
  return list;
}

std::optional<LinkList> list_in_text(std::string_view text) {
  if (trimmed(text).starts_with('<')) return std::nullopt;
  LinkList list = sitemap_list("sitemap");
  while (!text.empty()) {
    const std::string_view line = trimmed(take_until(text, '\n'));
    if (is_web_address(line)) list.add({std::string(line), 0, "", ""});
  }
  if (list.links().empty()) return std::nullopt;
  return list;
}

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1F\x8B\x08");
}

std::string gunzip(std::string_view bytes, std::size_t bytes_max) {
  constexpr int kGzipWindow = 15 + 16;
  std::string all;
  z_stream stream{};
  if (::inflateInit2(&stream, kGzipWindow) != Z_OK) return all;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(std::min<std::size_t>(bytes.size(), UINT32_MAX));
  std::vector<char> piece(256 * 1024);
  while (all.size() < bytes_max) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(std::min(piece.size(), bytes_max - all.size()));
    const uInt room = stream.avail_out;
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    all.append(piece.data(), room - stream.avail_out);
    // Another member may follow.
    const bool again =
        result == Z_STREAM_END && stream.avail_in > 0 && ::inflateReset(&stream) == Z_OK;
    if (result != Z_OK && !again) break;
  }
  ::inflateEnd(&stream);
  return all;
}

}  // namespace quern::worker
