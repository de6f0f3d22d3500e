// Page: what a crawl fetched becomes a document that has the page's own bytes, with its main text
// first; and where it leads. Feeds and sitemaps only lead somewhere.
#include <boost/json.hpp>
#include <cstdio>

#include "worker/charset.h"
#include "worker/input_bytes.h"
#include "worker/metadata.h"
#include "worker/steps.h"
#include "worker/web_list.h"
#include "worker/web_page.h"
#include "worker/web_page_decode.h"

namespace quern::worker {
namespace {

constexpr char kPageType[] = "text/html";
// Tags take their room too.
constexpr std::uint64_t kTagShare = 4;

std::string version() {
  return "1 gumbo";
}

// What the crawl says of the file.
struct Fetched {
  std::string content_type;
  bool is_sitemap = false;
};

Fetched fetched_of(const StepTask& task) {
  Fetched fetched;
  boost::system::error_code failed;
  const boost::json::value parsed = boost::json::parse(task.metadata, failed);
  if (failed || !parsed.is_object()) return fetched;
  const auto text_at = [&parsed](const char* key) {
    const boost::json::value* value = parsed.get_object().if_contains(key);
    return value != nullptr && value->is_string() ? std::string(value->get_string())
                                                  : std::string();
  };
  fetched.content_type = text_at("content_type");
  fetched.is_sitemap = text_at("source") == "sitemap";
  return fetched;
}

std::string metadata_of(const StepTask& task, const WebPage& page) {
  const PageAbout& about = page.about;
  Metadata metadata(task.metadata);
  metadata.add("title", about.title);
  metadata.add("description", about.description);
  metadata.add("author", about.author);
  metadata.add("published", about.published);
  metadata.add("modified", about.modified);
  metadata.add("language", about.language);
  metadata.add("site_name", about.site_name);
  metadata.add("canonical", page.links.canonical);
  return metadata.json();
}

void write_page(StepContext& context, std::string_view html) {
  const std::uint64_t characters = context.limits.text_characters;
  const WebPage page = read_web_page(html, characters);
  if (!page.has_tags) std::fprintf(stderr, "its tags take too long: read without them\n");
  if (page.text.was_cut) {
    std::fprintf(stderr, "the text is cut after %llu characters\n",
                 static_cast<unsigned long long>(characters));
  }
  StepTask task = context.task;
  task.metadata = metadata_of(task, page);
  ChildFields child{task.filename, kPageType};
  child.main_bytes = page.text.main_bytes;
  child.headings = page.text.headings;
  context.out.part("0.json", child_json(task, child));
  context.out.part("inherit-blob", "");
  context.out.part("0.txt", page.text.text);
  context.out.part("links", page.links.json());
}

StepEnd run(StepContext& context) {
  const InputBytes input(context.inputs.at(0));
  const Fetched fetched = fetched_of(context.task);
  std::string unpacked;
  std::string_view bytes = input.view();
  if (is_gzip(bytes)) {
    unpacked = gunzip(bytes, kSitemapBytesMax);
    bytes = unpacked;
  }
  const std::string text =
      decode_web_page(bytes, fetched.content_type, context.limits.text_characters * kTagShare);
  auto list = list_in_xml(text);
  if (!list && fetched.is_sitemap) list = list_in_text(text);
  if (list) {
    context.out.part("links", list->json());
  } else {
    write_page(context, text);
  }
  return std::nullopt;
}

void warm() {
  warm_charsets();
  static_cast<void>(read_web_page("<title>t</title><p>one<p>two", 100));
}

}  // namespace

Step page_step() {
  Step step{"Page", version, warm, run, 16};
  // A fork costs as much as a page: its child is kept for more of the same crawl.
  step.begin = [] {};
  return step;
}

}  // namespace quern::worker
