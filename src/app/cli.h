// The command line: words and flags in, a command run, an exit code out.
#pragma once

namespace quern::app {

int run_command_line(int argc, char** argv);

}  // namespace quern::app
