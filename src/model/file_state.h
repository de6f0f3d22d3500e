// The states of a file and what became of it in the end. Pure.
//
//   Created ----> Written ----> Processed ----> Ingested
//      |                            ^
//      +----------------------------+   an upload given up, a member that failed (no bytes),
//                                       a child that is complete as it comes
//
// A file never goes back: a retry is a new file. See docs/states.md.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace quern::model {

enum class FileState { Created, Written, Processed, Ingested };

inline constexpr std::array kFileStates = {FileState::Created, FileState::Written,
                                           FileState::Processed, FileState::Ingested};

std::string_view to_string(FileState state);  // "written"
std::optional<FileState> parse_file_state(std::string_view text);

constexpr bool may_move(FileState from, FileState to) {
  switch (from) {
    case FileState::Created:
      return to == FileState::Written || to == FileState::Processed;
    case FileState::Written:
      return to == FileState::Processed;
    case FileState::Processed:
      return to == FileState::Ingested;
    case FileState::Ingested:
      return false;
  }
  return false;
}

// Each file is exactly one of these; the ledger counts them.
enum class FileClass {
  Document,    // a leaf that people read
  Container,   // has children
  Converted,   // one child replaced it
  Empty,       // a container with nothing in it
  Error,       // could not become more
  InProgress,  // not ingested yet
};

inline constexpr std::array kFileClasses = {FileClass::Document,  FileClass::Container,
                                            FileClass::Converted, FileClass::Empty,
                                            FileClass::Error,     FileClass::InProgress};

std::string_view to_string(FileClass of_file);  // "in_progress"
std::optional<FileClass> parse_file_class(std::string_view text);

}  // namespace quern::model
