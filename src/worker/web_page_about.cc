#include "worker/web_page_about.h"

#include "base/ascii.h"
#include "base/web_date.h"

namespace quern::worker {
namespace {

// Of the names of one kind, the earlier in the list are believed first.
constexpr int kNobody = 100;

struct Name {
  std::string_view name;
  int rank;
};
constexpr Name kDescriptions[] = {{"description", 0},         {"og:description", 1},
                                  {"twitter:description", 2}, {"dc.description", 3},
                                  {"dcterms.description", 4}, {"dc:description", 4}};
constexpr Name kAuthors[] = {
    {"author", 0},     {"article:author", 3}, {"dc.creator", 1},      {"dcterms.creator", 1},
    {"dc:creator", 1}, {"parsely-author", 2}, {"sailthru.author", 2}, {"byl", 3}};
constexpr Name kPublished[] = {{"article:published_time", 0},
                               {"datepublished", 1},
                               {"og:published_time", 2},
                               {"parsely-pub-date", 3},
                               {"sailthru.date", 3},
                               {"dcterms.issued", 3},
                               {"dc.date.issued", 3},
                               {"dcterms.created", 4},
                               {"dc.date.created", 4},
                               {"dc.date", 5},
                               {"dcterms.date", 5},
                               {"pubdate", 4},
                               {"publishdate", 4},
                               {"publish-date", 4},
                               {"citation_publication_date", 4},
                               {"date", 6}};
constexpr Name kModified[] = {{"article:modified_time", 0},
                              {"datemodified", 1},
                              {"og:updated_time", 2},
                              {"dcterms.modified", 3},
                              {"dc.date.modified", 3},
                              {"last-modified", 4},
                              {"lastmod", 4},
                              {"revised", 5}};
constexpr Name kSites[] = {{"og:site_name", 0}, {"application-name", 1}};
constexpr Name kTitles[] = {
    {"og:title", 0}, {"twitter:title", 1}, {"dc.title", 2}, {"dc:title", 2}, {"dcterms.title", 2}};
constexpr Name kLanguages[] = {{"content-language", 0}, {"dc.language", 1}, {"og:locale", 2}};

template <std::size_t n>
int rank_in(const Name (&names)[n], std::string_view name) {
  for (const Name& known : names) {
    if (known.name == name) return known.rank;
  }
  return kNobody;
}

// The best word on one thing so far.
struct Best {
  std::string value;
  int rank = kNobody;

  void offer(int its_rank, std::string_view its_value) {
    its_value = trimmed(its_value);
    if (its_rank >= rank || its_value.empty()) return;
    rank = its_rank;
    value = its_value;
  }
};

bool is_address(std::string_view text) {
  return text.find("://") != std::string_view::npos;
}

class Reader {
 public:
  bool enter(const GumboNode& node) {
    if (node.type == GUMBO_NODE_TEXT || node.type == GUMBO_NODE_WHITESPACE) {
      if (in_title_) title_ += node.v.text.text;
      return false;
    }
    if (node.type != GUMBO_NODE_ELEMENT) return false;
    const GumboElement& element = node.v.element;
    if (element.tag_namespace != GUMBO_NAMESPACE_HTML) return false;
    switch (element.tag) {
      case GUMBO_TAG_HTML:
        lang_ = language_tag(attribute_of(element, "lang"));
        if (lang_.empty()) lang_ = language_tag(attribute_of(element, "xml:lang"));
        break;
      case GUMBO_TAG_TITLE:
        in_title_ = trimmed(title_).empty();
        break;
      case GUMBO_TAG_META:
        take_meta(element);
        break;
      case GUMBO_TAG_TIME:
        take_time(element);
        break;
      default:
        break;
    }
    return true;
  }

  void leave(const GumboNode& node) {
    if (node.v.element.tag == GUMBO_TAG_TITLE) in_title_ = false;
  }

  PageAbout finished() {
    PageAbout about;
    about.title = title_;
    about.og_title = titles_.value;
    about.description = descriptions_.value;
    about.author = authors_.value;
    about.published = published_.value;
    about.modified = modified_.value;
    about.language = lang_.empty() ? languages_.value : lang_;
    about.site_name = sites_.value;
    return about;
  }

 private:
  void take_meta(const GumboElement& element) {
    const std::string_view content = attribute_of(element, "content");
    if (trimmed(content).empty()) return;
    for (const char* key : {"name", "property", "itemprop", "http-equiv"}) {
      std::string_view names = attribute_of(element, key);
      for (auto name = take_word(names); !name.empty(); name = take_word(names)) {
        offer(lower_ascii(name), content);
      }
    }
  }

  void offer(const std::string& name, std::string_view content) {
    descriptions_.offer(rank_in(kDescriptions, name), content);
    if (!is_address(content)) authors_.offer(rank_in(kAuthors, name), content);
    sites_.offer(rank_in(kSites, name), content);
    titles_.offer(rank_in(kTitles, name), content);
    if (const int rank = rank_in(kPublished, name); rank < kNobody) {
      published_.offer(rank, iso_date(content));
    }
    if (const int rank = rank_in(kModified, name); rank < kNobody) {
      modified_.offer(rank, iso_date(content));
    }
    if (const int rank = rank_in(kLanguages, name); rank < kNobody) {
      languages_.offer(rank, language_tag(content.substr(0, content.find(','))));
    }
  }

  void take_time(const GumboElement& element) {
    const std::string_view date = attribute_of(element, "datetime");
    if (date.empty()) return;
    const std::string property = lower_ascii(attribute_of(element, "itemprop"));
    const bool is_pubdate = ::gumbo_get_attribute(&element.attributes, "pubdate") != nullptr;
    if (property == "datepublished" || is_pubdate) published_.offer(1, iso_date(date));
    if (property == "datemodified") modified_.offer(1, iso_date(date));
  }

  std::string title_;
  std::string lang_;
  bool in_title_ = false;
  Best titles_;
  Best descriptions_;
  Best authors_;
  Best published_;
  Best modified_;
  Best languages_;
  Best sites_;
};

}  // namespace

std::string language_tag(std::string_view text) {
  constexpr std::size_t kTagBytesMax = 35;
  text = trimmed(text);
  if (text.size() < 2 || text.size() > kTagBytesMax) return "";
  std::string tag(text);
  for (char& c : tag) {
    if (c == '_') c = '-';
    const char small = lower_ascii(c);
    if (!is_digit(c) && c != '-' && (small < 'a' || small > 'z')) return "";
  }
  const std::size_t primary = std::min(tag.find('-'), tag.size());
  if (primary < 2 || primary > 3) return "";
  for (std::size_t i = 0; i < primary; ++i) tag[i] = lower_ascii(tag[i]);
  return tag;
}

PageAbout about_of(const HtmlTree& tree) {
  Reader reader;
  walk(tree.root(), reader);
  return reader.finished();
}

}  // namespace quern::worker
