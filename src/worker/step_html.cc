// Html: web pages and web archives become a PDF, their words and a thumbnail. Nothing is fetched,
// no script runs, and of their looks only what concerns the text counts.
#include <fmt/format.h>
#include <mupdf/fitz/version.h>

#include <boost/json.hpp>
#include <cstdio>

#include "worker/charset.h"
#include "worker/html_clean.h"
#include "worker/html_decode.h"
#include "worker/html_text.h"
#include "worker/input_bytes.h"
#include "worker/laid_out_pdf.h"
#include "worker/metadata.h"
#include "worker/mht.h"
#include "worker/steps.h"
#include "worker/text_decode.h"
#include "worker/text_layout.h"
#include "worker/text_pdf.h"
#include "worker/thumbnail.h"
#include "worker/web_page_decode.h"

namespace quern::worker {
namespace {

constexpr char kWebArchiveType[] = "multipart/related";

std::string version() {
  return "1 mupdf " FZ_VERSION;
}

// The whole as MuPDF lays it out.
std::optional<Failure> lay_out_page(const std::string& xhtml, const Limits& limits,
                                    LaidOut& laid_out) {
  std::unique_ptr<PdfDocument> document;
  if (auto failed = PdfDocument::open(xhtml, "application/xhtml+xml", document)) return failed;
  return laid_out_pdf(*document, static_cast<int>(limits.text_pages), laid_out);
}

std::string plain_pdf(const std::string& text, const Limits& limits) {
  return text_pdf(lay_out(text, limits.text_pages));
}

std::string page_pdf(const HtmlTree& tree, const HtmlPictures& pictures, const std::string& text,
                     const Limits& limits) {
  const CleanHtml clean = clean_html(tree, pictures);
  LaidOut laid_out;
  if (const auto failed = lay_out_page(clean.xhtml, limits, laid_out)) {
    std::fprintf(stderr, "shown as plain text: %s\n", failed->message.c_str());
    return plain_pdf(text, limits);
  }
  if (clean.was_cut || laid_out.was_cut) {
    std::fprintf(stderr, "the PDF is cut after %d pages\n", laid_out.pages);
  }
  return std::move(laid_out.pdf);
}

// A page that a crawl fetched has the header of its answer with it.
std::string charset_told_by_server(const StepTask& task) {
  boost::system::error_code failed;
  const boost::json::value metadata = boost::json::parse(task.metadata, failed);
  const auto* object = failed ? nullptr : metadata.if_object();
  const auto* type = object == nullptr ? nullptr : object->if_contains("content_type");
  if (type == nullptr || !type->is_string()) return "";
  return charset_of_type(type->get_string());
}

WebArchive page_of(const StepContext& context, std::string_view bytes) {
  const std::string& type =
      context.task.detected_type.empty() ? context.task.content_type : context.task.detected_type;
  const bool is_archive = type.starts_with(kWebArchiveType);
  if (auto archive = is_archive ? read_web_archive(bytes) : std::nullopt) {
    return *std::move(archive);
  }
  return {std::string(bytes), charset_told_by_server(context.task), {}};
}

void write(StepContext& context, const HtmlWords& words, const std::string& pdf) {
  Metadata metadata(context.task.metadata);
  metadata.add("Title", words.title);
  metadata.add("Author", words.author);
  StepTask task = context.task;
  task.metadata = metadata.json();
  context.out.part("0.json", child_json(task, {task.filename, "application/pdf", false}));
  context.out.part("0.blob", pdf);
  context.out.part("0.txt", words.text);
  if (const auto thumbnail = thumbnail_of(pdf, kPageThumbnailPixels)) {
    context.out.part("0-thumbnail.jpg", *thumbnail);
  }
}

StepEnd run(StepContext& context) {
  const InputBytes input(context.inputs.at(0));
  const std::uint64_t characters = context.limits.text_characters;
  const WebArchive page = page_of(context, input.view());
  // Tags take their room too.
  const std::string html = decode_html(page.html, page.charset, characters * 4);
  const auto tree = HtmlTree::parse(html);
  HtmlWords words;
  if (!tree) {
    std::fprintf(stderr, "its tags make no sense: shown without them\n");
    words.text = decode_text(without_tags(html), characters).text;
    write(context, words, plain_pdf(words.text, context.limits));
    return std::nullopt;
  }
  words = html_words(*tree, characters);
  words.text = without_form_feeds(std::move(words.text));
  if (words.was_cut) {
    std::fprintf(stderr, "the text is cut after %llu characters\n",
                 static_cast<unsigned long long>(characters));
  }
  write(context, words, page_pdf(*tree, page.pictures, words.text, context.limits));
  return std::nullopt;
}

void warm() {
  warm_charsets();
  std::string letters;
  for (char c = ' '; c < 0x7F; ++c) letters += c == '<' || c == '&' ? ' ' : c;
  const auto tree = HtmlTree::parse("<h1>" + letters + "</h1><b>b</b><i>i</i><pre>" + letters);
  if (!tree) return;
  const std::string pdf = page_pdf(*tree, {}, letters, Limits());
  static_cast<void>(thumbnail_of(pdf, kPageThumbnailPixels));
}

}  // namespace

Step html_step() {
  return {"Html", version, warm, run, 4};
}

}  // namespace quern::worker
