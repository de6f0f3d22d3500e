#include "step/child_file.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "blob/digest.h"

namespace quern::step {
namespace {

namespace json = boost::json;
using model::StepId;

json::object parse_object(std::string_view text) {
  boost::system::error_code failed;
  json::value value = json::parse(json::string_view(text.data(), text.size()), failed);
  if (failed || !value.is_object()) return {};
  return std::move(value.get_object());
}

// Steps add keys; the user's own stay as they were.
std::string merged(const std::string& sent, const std::string& user) {
  if (user.empty()) return sent;
  json::object all = parse_object(sent);
  for (const auto& [key, value] : parse_object(user)) all[key] = value;
  return json::serialize(all);
}

std::optional<std::int64_t> number_of(const json::object& metadata, std::string_view key) {
  const json::value* found = metadata.if_contains(key);
  if (found == nullptr) return std::nullopt;
  boost::system::error_code failed;
  const auto number = found->to_number<std::int64_t>(failed);
  if (failed || number < 1) return std::nullopt;
  return number;
}

tree::Text empty_text() {
  tree::Text text;
  text.sha256 = blob::sha256_of("");
  return text;
}

bool is_small_pdf_page(const Lent& lent, const ChildUnderWay& child) {
  return child.text && (child.thumbnail || lent.step == StepId::Pdf) && !child.head.want_ocr &&
         !child.head.want_split;
}

bool says(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

// Why a child cannot be what it claims to be.
std::optional<tree::Failure> flaw_of(const Pipeline& pipeline, const Lent& lent,
                                     const ChildUnderWay& child, bool complete) {
  const std::int64_t depth_max = pipeline.options().limits.depth_max;
  if (lent.waiting.file.depth + 1 > depth_max) {
    return tree::Failure{model::ErrorKind::TooDeep,
                         fmt::format("it lies more than {} generations deep", depth_max)};
  }
  if (complete && !looks_like_pdf(child.blob_head)) {
    return tree::Failure{model::ErrorKind::Protocol,
                         fmt::format("{} gave a PDF that is none", model::to_string(lent.step))};
  }
  if (child.bad_thumbnail) {
    return tree::Failure{
        model::ErrorKind::Protocol,
        fmt::format("{} gave a thumbnail that is no image", model::to_string(lent.step))};
  }
  return std::nullopt;
}

void take_bytes(const Lent& lent, ChildUnderWay& child, tree::NewFile& file) {
  if (child.inherits) {
    file.inherited = lent.waiting.blob.id;
    file.bytes = lent.waiting.blob.bytes;
  } else if (child.blob) {
    file.bytes = child.blob->bytes;
    file.blob = std::move(child.blob);
  }
  file.thumbnail = std::move(child.thumbnail);
  file.text = std::move(child.text);
  if (!file.text) return;
  const std::uint64_t text_bytes =
      file.text->blob ? static_cast<std::uint64_t>(file.text->blob->bytes) : file.text->text.size();
  if (child.head.main_bytes && static_cast<std::uint64_t>(*child.head.main_bytes) <= text_bytes) {
    file.text->main_bytes = child.head.main_bytes;
  }
  file.text->headings = std::move(child.head.headings);
  // Where the text was cut, or mended, they may lie beyond it.
  if (tree::are_page_ends(child.head.page_ends, text_bytes)) {
    file.text->page_ends = std::move(child.head.page_ends);
  }
}

}  // namespace

std::string to_json(const FileOptions& options) {
  json::object object{{"ocr", options.ocr},
                      {"split_by_page", options.split_by_page},
                      {"language", options.language}};
  if (!options.user_metadata.empty()) object["metadata"] = parse_object(options.user_metadata);
  return json::serialize(object);
}

FileOptions parse_options(std::string_view text) {
  const json::object object = parse_object(text);
  FileOptions options;
  const auto flag = [&object](std::string_view key) {
    const json::value* found = object.if_contains(key);
    return found != nullptr && found->is_bool() && found->get_bool();
  };
  options.ocr = flag("ocr");
  options.split_by_page = flag("split_by_page");
  if (const json::value* language = object.if_contains("language"); language != nullptr) {
    if (language->is_string()) options.language = language->get_string();
  }
  if (const json::value* user = object.if_contains("metadata"); user != nullptr) {
    if (user->is_object()) options.user_metadata = json::serialize(*user);
  }
  return options;
}

bool looks_like_pdf(std::string_view head) {
  return head.substr(0, kHeadBytes).find("%PDF-") != std::string_view::npos;
}

bool looks_like_image(std::string_view head, std::string_view content_type) {
  using namespace std::string_view_literals;
  if (content_type == "image/png") return head.starts_with("\x89PNG\r\n\x1a\n"sv);
  return head.starts_with("\xff\xd8\xff"sv);
}

tree::NewFile child_file(const Pipeline& pipeline, const Lent& lent, ChildUnderWay child) {
  const FileOptions inherited = parse_options(lent.waiting.file.options);
  tree::NewFile file;
  file.filename = child.head.filename;
  file.metadata = merged(child.head.metadata, inherited.user_metadata);
  file.options = to_json(
      {child.head.want_ocr, child.head.want_split, child.head.language, inherited.user_metadata});
  const json::object metadata = parse_object(file.metadata);
  file.page = number_of(metadata, "pageNumber");
  file.pages = number_of(metadata, "pageCount");
  const bool pdf = model::canonical_type(child.head.content_type) == model::kPdfType;
  file.content_type =
      pdf ? std::string(model::kPdfType) : child.head.content_type.substr(0, model::kTypeBytesMax);
  file.step = model::to_string(lent.step);
  // The Pdf step ends what it makes: going back to it would never end.
  if (pdf && lent.step == StepId::Pdf && !child.text && !child.failure) child.text = empty_text();
  const bool web_page = lent.step == StepId::Page && child.text;
  // What is made for a rendering goes nowhere else, whatever it lacks.
  const bool complete = (pdf && (lent.rendering || is_small_pdf_page(lent, child))) || web_page;
  if (!child.failure) child.failure = flaw_of(pipeline, lent, child, complete && !web_page);
  take_bytes(lent, child, file);
  if (child.failure) {
    file.failure = std::move(child.failure);
    return file;
  }
  file.complete = complete;
  if (complete) return file;
  const auto ocr = child.head.want_ocr ? model::Ocr::Yes : model::Ocr::No;
  Pipeline::Decision decision = pipeline.decide(child.head.content_type, ocr);
  file.step = std::move(decision.step);
  file.failure = std::move(decision.failure);
  return file;
}

tree::Failure worker_error(std::string message) {
  using model::ErrorKind;
  ErrorKind kind = ErrorKind::Corrupt;
  if (says(message, "password") || says(message, "encrypt")) {
    kind = ErrorKind::Encrypted;
  } else if (says(message, "timed out")) {
    kind = ErrorKind::Timeout;
  } else if (says(message, "exited with")) {
    kind = ErrorKind::Crash;
  } else if (says(message, "unhandled") || says(message, "unsupported")) {
    kind = ErrorKind::Unsupported;
  } else if (says(message, "did not output") || says(message, "not executable")) {
    kind = ErrorKind::Internal;
  }
  if (message.empty()) message = "the worker gave no reason";
  // These two words are the server's own.
  if (message == "unhandled" || message == "canceled") message += " by the worker";
  return {kind, std::move(message)};
}

}  // namespace quern::step
