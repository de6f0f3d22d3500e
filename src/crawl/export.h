// A collection's captures as one WACZ file.
#pragma once

#include <filesystem>
#include <string>

#include "crawl/capture.h"
#include "store/readers.h"
#include "web/body.h"

namespace quern::crawl {

struct ExportOrder {
  std::string collection;
  std::filesystem::path warcs;
  std::filesystem::path spool;
};
// Missing where nothing was captured. What is captured meanwhile may be in it or not; its index
// names only what is in it. Blocks, as long as copying all of it takes.
Result<web::Body> export_wacz(store::Readers& readers, const ExportOrder& order);

}  // namespace quern::crawl
