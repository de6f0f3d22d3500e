#include "model/file_state.h"

#include <algorithm>

namespace quern::model {

std::string_view to_string(FileState state) {
  switch (state) {
    case FileState::Created:
      return "created";
    case FileState::Written:
      return "written";
    case FileState::Processed:
      return "processed";
    case FileState::Ingested:
      return "ingested";
  }
  return "";
}

std::optional<FileState> parse_file_state(std::string_view text) {
  const auto* found = std::ranges::find_if(
      kFileStates, [text](FileState state) { return to_string(state) == text; });
  if (found == kFileStates.end()) return std::nullopt;
  return *found;
}

std::string_view to_string(FileClass of_file) {
  switch (of_file) {
    case FileClass::Document:
      return "document";
    case FileClass::Container:
      return "container";
    case FileClass::Converted:
      return "converted";
    case FileClass::Empty:
      return "empty";
    case FileClass::Error:
      return "error";
    case FileClass::InProgress:
      return "in_progress";
  }
  return "";
}

std::optional<FileClass> parse_file_class(std::string_view text) {
  const auto* found = std::ranges::find_if(
      kFileClasses, [text](FileClass of_file) { return to_string(of_file) == text; });
  if (found == kFileClasses.end()) return std::nullopt;
  return *found;
}

}  // namespace quern::model
