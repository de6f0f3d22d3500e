// Text: plain text in any charset becomes a PDF, clean text and a thumbnail.
#include <fmt/format.h>
#include <mupdf/fitz/version.h>

#include <cstdio>

#include "base/xml_text.h"
#include "model/steps.h"
#include "worker/charset.h"
#include "worker/steps.h"
#include "worker/text_decode.h"
#include "worker/text_layout.h"
#include "worker/text_pdf.h"
#include "worker/thumbnail.h"

namespace quern::worker {
namespace {

// No charset needs more for a character.
constexpr std::uint64_t kCharacterBytesMax = 4;

std::string version() {
  return "1 mupdf " FZ_VERSION;
}

void warm() {
  warm_charsets();
  std::string letters;
  for (char c = ' '; c < 0x7F; ++c) letters += c;
  warm_thumbnails(text_pdf(lay_out(letters, 1)));
}

bool is_xml(const StepTask& task) {
  const std::string_view type = task.detected_type.empty() ? task.content_type : task.detected_type;
  return model::canonical_type(type).ends_with("xml");
}

StepEnd run(StepContext& context) {
  const StepInput& input = context.inputs.at(0);
  const std::uint64_t characters = context.limits.text_characters;
  const std::string bytes = read_input(input, characters * kCharacterBytesMax);
  DecodedText decoded = decode_text(bytes, characters);
  const Layout layout = lay_out(decoded.text, context.limits.text_pages);
  if (decoded.was_cut || bytes.size() < input.bytes) {
    std::fprintf(stderr, "the text is cut after %llu characters\n",
                 static_cast<unsigned long long>(characters));
  }
  if (layout.was_cut) {
    std::fprintf(stderr, "the PDF is cut after %zu pages\n", layout.pages.size());
  }
  const std::string pdf = text_pdf(layout);
  // The page shows the source; who searches means what it says.
  if (is_xml(context.task) || begins_as_xml(decoded.text)) {
    std::string said = xml_text(decoded.text);
    if (said.find_first_not_of(" \t\n") != std::string::npos) decoded.text = std::move(said);
  }
  const std::string text = without_form_feeds(std::move(decoded.text));
  const ChildFields child{context.task.filename, "application/pdf", false};
  context.out.part("0.json", child_json(context.task, child));
  context.out.part("0.blob", pdf);
  context.out.part("0.txt", text);
  if (const auto thumbnail = thumbnail_of(pdf)) context.out.part("0-thumbnail.jpg", *thumbnail);
  return std::nullopt;
}

}  // namespace

Step text_step() {
  return {"Text", version, warm, run, 4};
}

}  // namespace quern::worker
