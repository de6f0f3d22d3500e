// The registry of steps: their names, their share of a file's progress, and which types they take.
//
// Guarantee: names and weights are those of the worker protocol and never change. A type is looked
// up trimmed, in lower case, without parameters and with its aliases resolved, so that it does not
// matter which of its names a client, a worker or a detector used. Pure, no state.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "model/error_kind.h"  // IWYU pragma: export
#include "model/file_state.h"  // IWYU pragma: export

namespace quern::model {

enum class StepId {
  Archive,
  Email,
  Html,
  Image,
  Office,
  Pdf,
  PdfOcr,
  Pst,
  Text,
  Ebook,
  Audio,
  Mbox,
  Msg,
  Detect,
  Page,
};

inline constexpr std::array kSteps = {
    StepId::Archive, StepId::Email,  StepId::Html, StepId::Image,  StepId::Office,
    StepId::Pdf,     StepId::PdfOcr, StepId::Pst,  StepId::Text,   StepId::Ebook,
    StepId::Audio,   StepId::Mbox,   StepId::Msg,  StepId::Detect, StepId::Page};

// "PdfOcr": as in addresses; case counts.
std::string_view to_string(StepId step);
std::optional<StepId> parse_step(std::string_view name);

// Which part of a file's progress is the step's own; the rest belongs to its children. From 0 to 1.
// Detect has none: a file's way begins behind it.
double progress_weight(StepId step);

inline constexpr std::string_view kUnknownType = "application/octet-stream";
inline constexpr std::string_view kOutlookType = "application/vnd.ms-outlook";
inline constexpr std::string_view kPdfType = "application/pdf";
// Bytes of a type that we store; what is longer is none.
inline constexpr std::size_t kTypeBytesMax = 255;

// " Application/X-RAR-Compressed; version=4" is "application/vnd.rar": trimmed, without parameters,
// lower case, aliases resolved. What is no type at all ("", "zip", beyond the limit) is
// kUnknownType.
std::string canonical_type(std::string_view type);

// Whether only the bytes can tell: no type, application/octet-stream, and
// application/vnd.ms-outlook, which people use for both PST and MSG. Detection then says which:
// -pst, or plain for MSG.
bool needs_detection(std::string_view claimed_type);

enum class Ocr { No, Yes };
// Which step takes files of this type, named by a client or (where needs_detection) by detection.
// nullopt: nobody does, the file ends as unhandled.
std::optional<StepId> step_for_type(std::string_view type, Ocr ocr);

}  // namespace quern::model
