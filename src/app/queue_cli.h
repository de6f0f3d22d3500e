// The flags of `quern partition` and `quern item`.
#pragma once

#include "app/command.h"

namespace CLI {  // NOLINT: the library's name
class App;
}

namespace quern::app {

// Each sets `run` when its command was given; `run` outlives the app.
void add_partition_commands(CLI::App& app, Run& run);
void add_item_commands(CLI::App& app, Run& run);

}  // namespace quern::app
