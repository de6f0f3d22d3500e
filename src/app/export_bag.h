// quern export --format bagit|folder: the files of a collection, asked of the server one by one and
// written here. So the bag lies where the command runs, wherever the server does.
#pragma once

#include "app/command.h"
#include "app/door.h"
#include "app/export_command.h"

namespace quern::app {

inline constexpr std::size_t kExportedJobsMax = 100'000;

// Datasets, each with its files that are kept here, and the root files of imports. Of several
// requests for one address the newest that went well counts, and where none did, the newest.
net::Task<Result<int>> export_bag(Command command, Door& door, ExportCommand order);

}  // namespace quern::app
