#include "worker/fiction_book.h"

#include "worker/html_decode.h"
#include "worker/html_text.h"

namespace quern::worker {
namespace {

std::string_view between(std::string_view text, std::string_view begin, std::string_view end) {
  const std::size_t from = text.find(begin);
  if (from == std::string_view::npos) return {};
  text.remove_prefix(from + begin.size());
  return text.substr(0, text.find(end));
}

std::string words_of(std::string_view xml) {
  const auto tree = HtmlTree::parse(xml);
  return tree ? html_words(*tree, kAboutBookBytes).text : "";
}

}  // namespace

AboutBook about_fiction_book(std::string_view bytes) {
  const std::string head = decode_html(bytes.substr(0, kAboutBookBytes), "", kAboutBookBytes);
  const std::string_view about = between(head, "<title-info>", "</title-info>");
  const std::string_view author = between(about, "<author>", "</author>");
  AboutBook book;
  for (const char* part : {"first-name", "middle-name", "last-name", "nickname"}) {
    const std::string open = "<" + std::string(part) + ">";
    const std::string name(between(author, open, "<"));
    if (!name.empty()) book.author += (book.author.empty() ? "" : " ") + name;
  }
  book.annotation = words_of(between(about, "<annotation>", "</annotation>"));
  return book;
}

}  // namespace quern::worker
