#include "research/feed.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/utf8.h"
#include "base/xml_scanner.h"
#include "base/xml_text.h"
#include "research/sound_type.h"

namespace quern::research {
namespace {

using Token = XmlScanner::Token;

// Whose element it is, by the prefix that everybody uses.
enum class Space { Plain, Itunes, Podcast, Media, Content, Dublin, Other };

enum class Field {
  None,
  Title,
  ItunesTitle,
  Id,
  Link,
  Published,
  Updated,
  Summary,
  ItunesSummary,
  Content,
  Duration,
  Season,
  Episode,
  EpisodeType,
};

// Whose value may hold elements: markup, among which are names that feeds have as well.
bool holds_markup(Field field) {
  return field == Field::Summary || field == Field::Content || field == Field::ItunesSummary;
}

Field plain_field(std::string_view name) {
  constexpr std::pair<std::string_view, Field> kNames[] = {{"title", Field::Title},
                                                           {"guid", Field::Id},
                                                           {"id", Field::Id},
                                                           {"link", Field::Link},
                                                           {"pubDate", Field::Published},
                                                           {"published", Field::Published},
                                                           {"issued", Field::Published},
                                                           {"updated", Field::Updated},
                                                           {"modified", Field::Updated},
                                                           {"date", Field::Published},
                                                           {"description", Field::Summary},
                                                           {"summary", Field::Summary},
                                                           {"content", Field::Content}};
  for (const auto& [known, field] : kNames) {
    if (known == name) return field;
  }
  return Field::None;
}

Field itunes_field(std::string_view name) {
  if (name == "title") return Field::ItunesTitle;
  if (name == "summary" || name == "subtitle") return Field::ItunesSummary;
  if (name == "duration") return Field::Duration;
  if (name == "season") return Field::Season;
  if (name == "episode") return Field::Episode;
  return name == "episodeType" ? Field::EpisodeType : Field::None;
}

Field field_of(Space space, std::string_view name) {
  switch (space) {
    case Space::Plain:
      return plain_field(name);
    case Space::Itunes:
      return itunes_field(name);
    case Space::Podcast:
      if (name == "season") return Field::Season;
      return name == "episode" ? Field::Episode : Field::None;
    case Space::Content:
      return name == "encoded" ? Field::Content : Field::None;
    case Space::Dublin:
      return name == "date" ? Field::Published : Field::None;
    case Space::Media:
    case Space::Other:
      break;
  }
  return Field::None;
}

// Whether an element cannot be inside of this field: nobody has closed it.
bool ends(Field field, Space space, std::string_view name) {
  const bool plain = space == Space::Plain;
  const bool of_feeds = plain && (name == "guid" || name == "pubDate" || name == "enclosure");
  if (of_feeds || space == Space::Itunes || space == Space::Podcast) return true;
  return !holds_markup(field) && field_of(space, name) != Field::None;
}

std::string cut_to(std::string text, std::size_t bytes_max) {
  if (text.size() > bytes_max) {
    text.resize(bytes_max);
    text.resize(valid_utf8_prefix(text));
  }
  return text;
}

// One blank between words, none around; no control character.
std::string one_line(std::string_view text) {
  std::string line;
  bool gap = false;
  for (const char c : text) {
    if (is_blank(c) || (static_cast<unsigned char>(c) < 0x20) || c == 0x7F) {
      gap = !line.empty();
      continue;
    }
    if (std::exchange(gap, false)) line += ' ';
    line += c;
  }
  return line;
}

// Markup inside of a text goes; a "<" that nobody closes is one.
std::string without_markup(const std::string& text) {
  const std::size_t open = text.find('<');
  const bool marked = open != text.npos && text.find('>', open) != text.npos;
  const bool refers = text.find('&') != text.npos && text.find(';') != text.npos;
  return one_line(marked || refers ? xml_text(text) : text);
}

// "1:02:03", "62:03", "3723"; nothing where it is none.
std::optional<std::int64_t> seconds_of(std::string_view text) {
  std::int64_t seconds = 0;
  for (int i = 0; i < 3 && !text.empty(); ++i) {
    std::string_view part = trimmed(take_until(text, ':'));
    part = part.substr(0, part.find('.'));
    std::int64_t value = 0;
    const auto [end, odd] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (odd != std::errc{} || end != part.data() + part.size() || value < 0 || value > 1'000'000) {
      return std::nullopt;
    }
    seconds = seconds * 60 + value;
  }
  if (!text.empty()) return std::nullopt;
  return seconds;
}

class FeedReader {
 public:
  FeedReader(std::string_view xml, const web::Url& url) : scanner_(xml) {
    bases_.push_back({0, url});
  }

  std::optional<Feed> run() {
    for (;;) {
      switch (scanner_.next()) {
        case Token::Open:
          if (!open()) return std::nullopt;
          break;
        case Token::Close:
          close(scanner_.name());
          break;
        case Token::Text:
          if (field_ != Field::None && value_.size() < kFeedTextBytesMax) value_ += scanner_.text();
          break;
        case Token::End:
          end_entry();
          return found_root_ ? std::optional(std::move(feed_)) : std::nullopt;
      }
      if (feed_.cut) return std::move(feed_);
    }
  }

 private:
  struct Base {
    std::size_t depth;  // of the element that named it
    web::Url url;
  };
  struct Choice {
    int rank = 0;
    std::string url;
    std::string type;
  };

  Space space_of(std::string_view prefix) const {
    if (prefix.empty() || prefix == root_prefix_ || prefix == "rss" || prefix == "atom") {
      return Space::Plain;
    }
    constexpr std::pair<std::string_view, Space> kPrefixes[] = {{"itunes", Space::Itunes},
                                                                {"podcast", Space::Podcast},
                                                                {"media", Space::Media},
                                                                {"content", Space::Content},
                                                                {"dc", Space::Dublin}};
    for (const auto& [known, space] : kPrefixes) {
      if (equals_ignoring_case(known, prefix)) return space;
    }
    return Space::Other;
  }

  bool open() {
    const std::string_view name = scanner_.name();
    if (!found_root_) {
      if (name != "rss" && name != "feed" && name != "RDF") return false;
      found_root_ = true;
      root_prefix_ = scanner_.prefix();
    }
    const Space space = space_of(scanner_.prefix());
    const bool begins = space == Space::Plain && (name == "item" || name == "entry");
    if (begins && in_entry_) {
      end_entry();
      // Nobody has closed it.
      leave(entry_depth_ - 1);
    }
    take(space, name);
    if (scanner_.is_empty() || names_.size() >= kFeedDepthMax) return true;
    names_.push_back(name);
    take_base();
    if (begins) begin_entry();
    return true;
  }

  // So many elements stay open.
  void leave(std::size_t depth) {
    names_.resize(std::min(names_.size(), depth));
    while (bases_.size() > 1 && bases_.back().depth > names_.size()) bases_.pop_back();
  }

  void take_base() {
    const std::string base = scanner_.attribute("base");
    if (base.empty()) return;
    const Result<web::Url> url = web::Url::parse(base, bases_.back().url);
    if (url.ok() && url->is_web()) bases_.push_back({names_.size(), *url});
  }

  void take(Space space, std::string_view name) {
    const std::string_view parent = names_.empty() ? std::string_view() : names_.back();
    if (field_ != Field::None) {
      // A field that nobody closed ends where another one begins.
      if (!ends(field_, space, name)) {
        value_ += ' ';
        return;
      }
      end_field();
      leave(field_depth_);
      take(space, name);
      return;
    }
    if (in_entry_) {
      take_in_entry(space, name, parent);
    } else if (space == Space::Plain && (parent == "channel" || parent == "feed")) {
      if (name == "link") take_page(scanner_.attribute("rel"), scanner_.attribute("href"));
      if (name == "title" && feed_.title.empty()) begin_field(Field::Title, name);
    }
  }

  void take_in_entry(Space space, std::string_view name, std::string_view parent) {
    const bool direct = parent == "item" || parent == "entry";
    if (space == Space::Media && name == "content" && (direct || parent == "group")) {
      const std::string medium = scanner_.attribute("medium");
      std::string type = scanner_.attribute("type");
      if (type.empty() && (medium == "audio" || medium == "video")) type = medium + "/unknown";
      offer(scanner_.attribute("url"), std::move(type), 0);
    } else if (space == Space::Podcast && name == "alternateEnclosure") {
      alternate_type_ = scanner_.attribute("type");
    } else if (space == Space::Podcast && name == "source") {
      offer(scanner_.attribute("uri"), alternate_type_, 1);
    } else if (direct && space == Space::Plain && name == "enclosure") {
      offer(scanner_.attribute("url"), scanner_.attribute("type"), 0);
    } else if (direct && space == Space::Plain && name == "link" && take_atom_link()) {
      return;
    } else if (direct) {
      const Field field = field_of(space, name);
      if (field != Field::None && !scanner_.is_empty()) begin_field(field, name);
    }
  }

  // <link rel="x" href="y"/>; false where it is a link as RSS has it.
  bool take_atom_link() {
    const std::string href = scanner_.attribute("href");
    if (href.empty()) return false;
    const std::string rel = lower_ascii(scanner_.attribute("rel"));
    if (rel == "enclosure") offer(href, scanner_.attribute("type"), 0);
    if ((rel.empty() || rel == "alternate") && link_.empty()) link_ = absolute(href);
    return true;
  }

  void take_page(const std::string& rel, const std::string& href) {
    const std::string kind = lower_ascii(rel);
    if (href.empty() || (kind != "next" && kind != "prev-archive")) return;
    // Pages of one feed come before its archives.
    if (feed_.next.empty() || kind == "next") feed_.next = absolute(href);
  }

  // Without a fragment; "" where it is no address of the web, or too long.
  std::string absolute(std::string_view text) const {
    Result<web::Url> url = web::Url::parse(trimmed(text), bases_.back().url);
    if (scanner_.attribute("base").empty()) {
      if (!url.ok() || !url->is_web()) return "";
    } else {
      const Result<web::Url> base = web::Url::parse(scanner_.attribute("base"), bases_.back().url);
      if (base.ok()) url = web::Url::parse(trimmed(text), *base);
      if (!url.ok() || !url->is_web()) return "";
    }
    std::string href = url->href();
    href.resize(std::min(href.find('#'), href.size()));
    return href.size() <= web::kUrlBytesMax ? href : "";
  }

  // The first one of the best kind is taken.
  void offer(const std::string& address, std::string type, int less) {
    if (trimmed(address).empty()) return;
    Choice choice;
    choice.url = absolute(address);
    choice.type = lower_ascii(trimmed(type));
    if (choice.url.empty()) return;
    const int rank = sound_rank(choice.type, choice.url);
    choice.rank = rank == 0 ? 0 : rank * 2 - less;
    if (choice.rank > sound_.rank) sound_ = std::move(choice);
  }

  void begin_field(Field field, std::string_view name) {
    field_ = field;
    field_name_ = name;
    field_depth_ = names_.size();
    value_.clear();
    if (field == Field::Link) value_base_ = bases_.back().url;
  }

  void close(std::string_view name) {
    if (field_ != Field::None && name == field_name_) end_field();
    const auto found = std::find(names_.rbegin(), names_.rend(), name);
    if (found == names_.rend()) return;
    // What was left open inside of it ends with it.
    leave(static_cast<std::size_t>(names_.rend() - found) - 1);
    const bool closes_entry = in_entry_ && names_.size() < entry_depth_;
    if (closes_entry) end_entry();
  }

  void end_field() {
    const std::string value = std::exchange(value_, {});
    const Field field = std::exchange(field_, Field::None);
    if (!in_entry_) {
      feed_.title = cut_to(without_markup(value), kFeedTitleBytesMax);
      return;
    }
    set_field(field, value);
  }

  void set_field(Field field, const std::string& value) {
    const auto fill = [](std::string& into, std::string text) {
      if (into.empty()) into = std::move(text);
    };
    switch (field) {
      case Field::Title:
        fill(entry_.title, without_markup(value));
        break;
      case Field::ItunesTitle:
        fill(itunes_title_, without_markup(value));
        break;
      case Field::Id:
        fill(entry_.id, one_line(value));
        break;
      case Field::Link: {
        const Result<web::Url> url = web::Url::parse(trimmed(value), *value_base_);
        if (url.ok() && url->is_web()) fill(link_, url->href());
        break;
      }
      case Field::Published:
        fill(entry_.aired, rfc3339_of(value));
        break;
      case Field::Updated:
        fill(updated_, rfc3339_of(value));
        break;
      case Field::Summary:
        fill(entry_.description, without_markup(value));
        break;
      case Field::ItunesSummary:
        fill(itunes_summary_, without_markup(value));
        break;
      case Field::Content:
        fill(content_, without_markup(value));
        break;
      case Field::Duration:
        if (const auto seconds = seconds_of(trimmed(value))) {
          entry_.metadata["duration_seconds"] = *seconds;
        }
        break;
      case Field::Season:
        set_text("season", value);
        break;
      case Field::Episode:
        set_text("episode", value);
        break;
      case Field::EpisodeType:
        set_text("episode_type", value);
        break;
      case Field::None:
        break;
    }
  }

  void set_text(const char* key, const std::string& value) {
    const std::string text = cut_to(one_line(value), kFeedTitleBytesMax);
    if (!text.empty() && !entry_.metadata.contains(key)) entry_.metadata[key] = text;
  }

  void begin_entry() {
    in_entry_ = true;
    entry_depth_ = names_.size();
    entry_.id = one_line(scanner_.attribute("about"));  // of RDF
  }

  void end_entry() {
    if (!in_entry_) return;
    if (field_ != Field::None) end_field();
    in_entry_ = false;
    if (entry_.title.empty()) entry_.title = itunes_title_;
    if (entry_.description.empty()) entry_.description = itunes_summary_;
    if (entry_.description.empty()) entry_.description = content_;
    if (entry_.aired.empty()) entry_.aired = updated_;
    entry_.title = cut_to(std::move(entry_.title), kFeedTitleBytesMax);
    entry_.description = cut_to(std::move(entry_.description), kFeedTextBytesMax);
    if (!link_.empty() && link_.size() <= web::kUrlBytesMax) entry_.metadata["link"] = link_;
    entry_.url = sound_.url;
    entry_.media_type = cut_to(sound_.type, kFeedTitleBytesMax);
    if (entry_.url.empty()) {
      ++feed_.left_out;
    } else if (feed_.entries.size() >= kFeedEntriesMax) {
      feed_.cut = true;
    } else {
      feed_.entries.push_back(std::move(entry_));
    }
    entry_ = {};
    sound_ = {};
    for (std::string* text :
         {&link_, &updated_, &itunes_title_, &itunes_summary_, &content_, &alternate_type_}) {
      text->clear();
    }
  }

  XmlScanner scanner_;
  Feed feed_;
  bool found_root_ = false;
  std::string_view root_prefix_;
  std::vector<std::string_view> names_;
  std::vector<Base> bases_;
  Field field_ = Field::None;
  std::string_view field_name_;
  std::size_t field_depth_ = 0;  // elements around it
  std::string value_;
  std::optional<web::Url> value_base_;
  bool in_entry_ = false;
  std::size_t entry_depth_ = 0;
  FeedEntry entry_;
  Choice sound_;
  std::string link_, updated_, itunes_title_, itunes_summary_, content_, alternate_type_;
};

}  // namespace

bool is_feed(std::string_view bytes) {
  const std::string text = feed_text(bytes.substr(0, kFeedSniffBytes), "");
  XmlScanner scanner(text);
  for (;;) {
    const Token token = scanner.next();
    if (token == Token::Text) {
      if (!trimmed(scanner.text()).empty()) return false;
      continue;
    }
    if (token != Token::Open) return false;
    const std::string_view name = scanner.name();
    return name == "rss" || name == "feed" || name == "RDF";
  }
}

Result<Feed> parse_feed(std::string_view bytes, const FeedSource& source) {
  const std::string text = feed_text(bytes, source.content_type);
  std::optional<Feed> feed = FeedReader(text, source.url).run();
  if (!feed) return Error{Errc::Invalid, "this is no feed: neither RSS nor Atom"};
  return *std::move(feed);
}

}  // namespace quern::research
