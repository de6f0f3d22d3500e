#include "model/steps.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "model/type_table.h"

namespace quern::model {
namespace {

struct StepRow {
  StepId step;
  std::string_view name;
  double weight;
};

constexpr std::array kStepRows = {
    StepRow{StepId::Archive, "Archive", 0.1}, StepRow{StepId::Email, "Email", 0.1},
    StepRow{StepId::Html, "Html", 0.75},      StepRow{StepId::Image, "Image", 1},
    StepRow{StepId::Office, "Office", 0.75},  StepRow{StepId::Pdf, "Pdf", 1},
    StepRow{StepId::PdfOcr, "PdfOcr", 0.75},  StepRow{StepId::Pst, "Pst", 0.1},
    StepRow{StepId::Text, "Text", 0.75},      StepRow{StepId::Ebook, "Ebook", 0.75},
    StepRow{StepId::Audio, "Audio", 1},       StepRow{StepId::Mbox, "Mbox", 0.1},
    StepRow{StepId::Msg, "Msg", 0.1},         StepRow{StepId::Detect, "Detect", 0},
    StepRow{StepId::Page, "Page", 1},
};

const StepRow& row_of(StepId step) {
  return *std::ranges::find(kStepRows, step, &StepRow::step);
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool is_token(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$&-^_.+").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::ranges::all_of(text, allowed);
}

// Without parameters and blanks, in lower case; "" where that is no type.
std::string plain_type(std::string_view type) {
  type = type.substr(0, type.find(';'));
  while (!type.empty() && is_blank(type.front())) type.remove_prefix(1);
  while (!type.empty() && is_blank(type.back())) type.remove_suffix(1);
  if (type.size() > kTypeBytesMax) return {};
  std::string plain(type);
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const std::size_t slash = plain.find('/');
  if (slash == std::string::npos) return {};
  const std::string_view view = plain;
  return is_token(view.substr(0, slash)) && is_token(view.substr(slash + 1)) ? plain
                                                                             : std::string();
}

using StepOfType = std::unordered_map<std::string_view, StepId>;
using TypeOfAlias = std::unordered_map<std::string_view, std::string_view>;

std::string_view take_word(std::string_view& words) {
  const std::size_t begin = std::min(words.size(), words.find_first_not_of(" \n"));
  words.remove_prefix(begin);
  const std::string_view word = words.substr(0, words.find_first_of(" \n"));
  words.remove_prefix(word.size());
  return word;
}

const StepOfType& step_of_type() {
  static const StepOfType all = [] {
    StepOfType made;
    for (const TypesOfStep& row : types_of_steps()) {
      std::string_view words = row.types;
      for (auto type = take_word(words); !type.empty(); type = take_word(words)) {
        CHECK(made.emplace(type, row.step).second);
      }
    }
    return made;
  }();
  return all;
}

const TypeOfAlias& type_of_alias() {
  static const TypeOfAlias all = [] {
    TypeOfAlias made;
    for (const AliasesOfType& row : aliases_of_types()) {
      std::string_view words = row.aliases;
      for (auto alias = take_word(words); !alias.empty(); alias = take_word(words)) {
        CHECK(made.emplace(alias, row.type).second);
      }
    }
    return made;
  }();
  return all;
}

// What a whole family of types has in common, where the table does not name one.
std::optional<StepId> step_of_family(std::string_view type) {
  if (type.ends_with("+zip") || type.ends_with("+gzip")) return StepId::Archive;
  if (type.ends_with("+xml") || type.ends_with("+json") || type.ends_with("+yaml")) {
    return StepId::Text;
  }
  if (type.starts_with("text/")) return StepId::Text;
  if (type.starts_with("audio/") || type.starts_with("video/")) return StepId::Audio;
  return std::nullopt;
}

}  // namespace

std::string_view to_string(StepId step) {
  return row_of(step).name;
}

std::optional<StepId> parse_step(std::string_view name) {
  const auto* found = std::ranges::find(kStepRows, name, &StepRow::name);
  if (found == kStepRows.end()) return std::nullopt;
  return found->step;
}

double progress_weight(StepId step) {
  return row_of(step).weight;
}

std::string canonical_type(std::string_view type) {
  std::string plain = plain_type(type);
  if (plain.empty()) return std::string(kUnknownType);
  const auto alias = type_of_alias().find(plain);
  return alias == type_of_alias().end() ? plain : std::string(alias->second);
}

bool needs_detection(std::string_view claimed_type) {
  const std::string type = canonical_type(claimed_type);
  return type == kUnknownType || type == kOutlookType;
}

std::optional<StepId> step_for_type(std::string_view type, Ocr ocr) {
  const std::string canonical = canonical_type(type);
  if (canonical == kPdfType) return ocr == Ocr::Yes ? StepId::PdfOcr : StepId::Pdf;
  const auto found = step_of_type().find(canonical);
  return found == step_of_type().end() ? step_of_family(canonical) : found->second;
}

}  // namespace quern::model
