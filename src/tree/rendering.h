// Renderings: the PDF and the thumbnail of a document that has none of its own, a web page. They
// are made when somebody asks (step/renderer.h).
//
// Guarantee: a document has one rendering at most: none, a whole one, or the reason why there is
// none, and it never changes. Nothing of the document does. How: the bytes are durable before the
// row names them, the file is the row's key, and whoever removes the file removes it too.
//
// Functions run on the writer, or in a read where they only load.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tree/child.h"
#include "tree/file.h"

namespace quern::tree {

struct Rendering {
  std::optional<blob::BlobId> pdf;
  std::optional<blob::BlobId> thumbnail;  // a PDF may lack one
  std::string thumbnail_type;
  std::optional<Failure> failure;  // instead of a PDF
};

// Whether it is a document that has no PDF of its own.
bool needs_rendering(const File& file);

Result<std::optional<Rendering>> find_rendering(store::Tx& tx, FileId file);
// The document as a step is to get it. Missing where it is gone, or needs no rendering.
Result<Waiting> load_unrendered(store::Tx& tx, FileId file);

struct NewRendering {
  FileId file;
  std::optional<blob::Put> pdf;
  std::optional<Thumbnail> thumbnail;
  std::optional<Failure> failure;
};
struct KeptRendering {
  bool kept = false;                 // false: its document is gone, or has one; nothing was written
  std::vector<std::string> orphans;  // places that nobody uses
};
// Stale where the bytes have to be put again (blob/row.h).
Result<KeptRendering> keep_rendering(store::Tx& tx, const NewRendering& rendering);

// For whoever removes files, behind that: a rendering that is being kept holds its file. Adds the
// blobs that may have lost their last reference.
Result<> remove_renderings(store::Tx& tx, const store::Bulk& files,
                           std::vector<blob::BlobId>& blobs);

}  // namespace quern::tree
