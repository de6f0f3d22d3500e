#include "api/file_json.h"

#include <boost/json.hpp>

#include "api/queue_json.h"
#include "blob/digest.h"
#include "model/steps.h"

namespace quern::api {
namespace {

namespace json = boost::json;

template <class Id>
json::value id_or_null(const std::optional<Id>& id) {
  return id ? json::value(id->value) : json::value();
}

json::value number_or_null(const std::optional<std::int64_t>& number) {
  return number ? json::value(*number) : json::value();
}

json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value() : json::value(text);
}

json::value hex_or_null(const std::string& raw) {
  return raw.empty() ? json::value() : json::value(blob::hex_of(raw));
}

json::value time_or_null(const std::optional<std::int64_t>& at_us) {
  return at_us ? time_json(*at_us) : json::value();
}

json::value parsed(const std::string& text) {
  boost::system::error_code failed;
  json::value value = json::parse(text, failed);
  return failed ? json::value() : value;
}

json::string name_of(std::string_view text) {
  return json::string(text);
}

}  // namespace

json::object file_line(const tree::File& file) {
  return {{"file", file.id.value},
          {"parent", id_or_null(file.parent)},
          {"filename", file.filename},
          {"depth", file.depth},
          {"content_type", file.content_type},
          {"detected_type", text_or_null(file.detected_type)},
          {"step", text_or_null(file.step)},
          {"state", name_of(model::to_string(file.state))},
          {"class", name_of(model::to_string(file.became))},
          {"n_children", file.n_children},
          {"error_kind", text_or_null(file.error_kind)}};
}

json::object tree_line(const tree::File& file) {
  json::object line = file_line(file);
  line["index"] = file.index;
  line["bytes"] = file.bytes;
  line["message"] = text_or_null(file.processing_error);
  line["has_thumbnail"] = file.thumbnail.has_value();
  line["has_text"] = file.has_text;
  return line;
}

json::object document_line(const tree::File& file, const tree::Digests& digests) {
  return {{"document", file.id.value},
          {"filename", file.filename},
          {"page", number_or_null(file.page)},
          {"pages", number_or_null(file.pages)},
          {"text_sha256", hex_or_null(digests.text_sha256)},
          {"pdf_sha256", hex_or_null(digests.pdf_sha256)},
          {"metadata", parsed(file.metadata)}};
}

json::object error_line(const tree::File& file) {
  json::object line{{"file", file.id.value},
                    {"filename", file.filename},
                    {"kind", file.error_kind},
                    {"message", file.processing_error}};
  if (file.superseded) line["superseded"] = true;
  return line;
}

json::object file_details(const tree::File& file) {
  json::object all = file_line(file);
  const json::object more{{"job", file.job.value},
                          {"root", id_or_null(file.root)},
                          {"index", file.index},
                          {"bytes", file.bytes},
                          {"metadata", parsed(file.metadata)},
                          {"options", parsed(file.options)},
                          {"has_blob", file.blob.has_value()},
                          {"thumbnail_type", text_or_null(file.thumbnail_type)},
                          {"has_text", file.has_text},
                          {"page", number_or_null(file.page)},
                          {"pages", number_or_null(file.pages)},
                          {"n_ingested_children", file.n_ingested_children},
                          {"tree_files", file.tree_files},
                          {"tree_bytes", file.tree_bytes},
                          {"created", time_json(file.created_us)},
                          {"written", time_or_null(file.written_us)},
                          {"processed", time_or_null(file.processed_us)},
                          {"ingested", time_or_null(file.ingested_us)},
                          {"message", text_or_null(file.processing_error)},
                          {"superseded", file.superseded},
                          {"attempts", file.attempts},
                          {"interruptions", file.interruptions},
                          {"conflicts", file.conflicts},
                          {"step_version", text_or_null(file.step_version)},
                          {"worker", text_or_null(file.worker)},
                          {"note", text_or_null(file.note)},
                          {"wall_ms", number_or_null(file.wall_ms)},
                          {"cpu_ms", number_or_null(file.cpu_ms)},
                          {"peak_kib", number_or_null(file.peak_kib)}};
  for (const auto& [name, value] : more) all[name] = value;
  return all;
}

std::size_t original_of(const std::vector<tree::File>& lineage) {
  std::size_t at = 0;
  while (at + 1 < lineage.size() && lineage[at + 1].became == model::FileClass::Converted) ++at;
  return at;
}

void add_origin(json::object& details, const std::vector<tree::File>& lineage,
                const std::string& collection) {
  details["collection"] = collection;
  json::array parents;
  for (std::size_t at = lineage.size(); at-- > 1;) {
    const tree::File& file = lineage[at];
    parents.push_back({{"file", file.id.value},
                       {"filename", file.filename},
                       {"class", name_of(model::to_string(file.became))},
                       {"detected_type", text_or_null(file.detected_type)},
                       {"content_type", file.content_type},
                       {"index", file.index},
                       {"n_children", file.n_children}});
  }
  details["parents"] = std::move(parents);
  details["original"] = lineage[original_of(lineage)].id.value;
}

json::object ledger_line(const tree::Collection& collection) {
  const tree::Sums& sums = collection.sums;
  return {{"collection", collection.name},
          {"roots", sums.roots},
          {"files", sums.files},
          {"documents", sums.documents},
          {"containers", sums.containers},
          {"converted", sums.converted},
          {"empty", sums.empty},
          {"errors", sums.errors},
          {"in_progress", collection.in_progress},
          {"skipped", collection.skipped},
          {"bytes_in", sums.bytes_in},
          {"balanced", collection.balanced()}};
}

}  // namespace quern::api
