#include "fileset/keeping.h"

namespace quern::fileset {

boost::json::object to_json(const FileMeta& meta) {
  return {{"size_bytes", meta.size},
          {"md5hex", meta.md5},
          {"sha1hex", meta.sha1},
          {"sha256hex", meta.sha256},
          {"mimetype", meta.mimetype}};
}

}  // namespace quern::fileset
