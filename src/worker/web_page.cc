#include "worker/web_page.h"

#include "worker/html_text.h"
#include "worker/text_decode.h"
#include "worker/web_page_data.h"
#include "worker/web_page_language.h"
#include "worker/web_page_main.h"
#include "worker/web_page_scripts.h"

namespace quern::worker {
namespace {

// Of the main text, where there is one.
std::string language_of_page(const PageText& text) {
  const std::string_view all = text.text;
  return language_of(text.main_bytes > 0 ? all.substr(0, text.main_bytes) : all);
}

WebPage without_any_tags(const std::string& html, std::uint64_t characters_max) {
  DecodedText decoded = decode_text(without_tags(html), characters_max);
  WebPage page;
  page.text.text = std::move(decoded.text);
  page.text.main_bytes = page.text.text.size();
  page.text.was_cut = decoded.was_cut;
  page.has_tags = false;
  return page;
}

}  // namespace

WebPage read_web_page(std::string_view html, std::uint64_t characters_max, std::int64_t cpu_ms) {
  const PageWithoutScripts stripped = without_scripts(html);
  const auto tree = HtmlTree::parse(stripped.html, cpu_ms);
  if (!tree) return without_any_tags(stripped.html, characters_max);
  const PageOutline outline = outline_of(*tree);
  WebPage page;
  page.text = text_of(outline, main_text_of(outline), characters_max);
  page.links = links_of(*tree);
  page.about = about_of(*tree);
  add_data(stripped.data, page.about);
  if (page.about.title.find_first_not_of(" \t\r\n") == std::string::npos) {
    page.about.title = page.about.og_title.empty() ? page.text.first_h1 : page.about.og_title;
  }
  if (page.about.language.empty()) page.about.language = language_of_page(page.text);
  return page;
}

}  // namespace quern::worker
