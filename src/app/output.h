// Output: what a command says on standard output. A reader that went away, or a full disk, is an
// error that the command returns: what was asked may be done, but nobody has been told.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace quern::app {

// Writes the line and a line end, and flushes: a program that reads it learns of each thing as it
// is done.
Result<> print_line(const std::string& line);

// Bytes as they are, without a line end.
Result<> print_bytes(std::string_view bytes);

// For a person, on standard error. Where that cannot be written to, nobody can be told.
void complain(const std::string& line);

}  // namespace quern::app
