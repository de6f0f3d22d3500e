// The text of a file as one string, wherever it lies.
#pragma once

#include <memory>
#include <string>

#include "api/service.h"
#include "tree/file.h"

namespace quern::api {

struct WholeText {
  std::string text;
  bool cut = false;
  tree::PageEnds page_ends;  // may be empty
};
// Missing where it has none. Its length is bounded by what a document may have.
net::Task<Result<WholeText>> load_whole_text(std::shared_ptr<const Parts> parts, tree::FileId id);

}  // namespace quern::api
