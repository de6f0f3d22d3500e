#include "app/output.h"

#include <cstdio>

namespace quern::app {

Result<> print_line(const std::string& line) {
  return print_bytes(line + '\n');
}

Result<> print_bytes(std::string_view bytes) {
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
  if (written && std::fflush(stdout) == 0) return {};
  return Error{Errc::Unavailable, "standard output cannot be written to"};
}

void complain(const std::string& line) {
  const std::string text = line + '\n';
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace quern::app
