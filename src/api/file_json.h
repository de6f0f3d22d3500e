// JSON of files, documents, errors and collections, as lists and commands show them. Pure.
//
// The fields of lines are a contract (docs/http-api.md): two runs can be compared by them, once the
// ids are left out.
#pragma once

#include <boost/json/object.hpp>

#include "tree/file.h"
#include "tree/job.h"

namespace quern::api {

// file, parent, filename, depth, content_type, detected_type, step, state, class, n_children,
// error_kind.
boost::json::object file_line(const tree::File& file);
// That, and index, bytes, message, has_thumbnail, has_text: of children and roots.
boost::json::object tree_line(const tree::File& file);
// document, filename, page, pages, text_sha256, pdf_sha256, metadata.
boost::json::object document_line(const tree::File& file, const tree::Digests& digests);
// file, filename, kind, message; superseded where it is.
boost::json::object error_line(const tree::File& file);
// Everything that is known of it.
boost::json::object file_details(const tree::File& file);
// Where it came from, of the file and its parents (tree::load_lineage): collection, parents from
// the root down, and the file whose bytes are the original of this one.
void add_origin(boost::json::object& details, const std::vector<tree::File>& lineage,
                const std::string& collection);
// Climbs as long as the parent was converted. An index of the lineage.
std::size_t original_of(const std::vector<tree::File>& lineage);
// collection, roots, files, documents, containers, converted, empty, errors, in_progress, skipped,
// bytes_in, balanced.
boost::json::object ledger_line(const tree::Collection& collection);

}  // namespace quern::api
