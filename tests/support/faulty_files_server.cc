// faulty_files_server: FaultyFiles as a process of its own, for benchmarks: "/made/SIZE/SEED".
// Prints "listening HOST:PORT" and runs until killed.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "support/faulty_files.h"

int main() {
  const quern::support::FaultyFiles server;
  fmt::print("listening {}\n", server.place());
  std::fflush(stdout);
  for (;;) ::pause();
}
