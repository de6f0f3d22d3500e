#include "fileset/crate.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/utf8.h"
#include "fileset/bag_path.h"
#include "io/clock.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

constexpr std::size_t kWaitingBytesMax = 64 * 1024;
constexpr char kContext[] = "https://w3id.org/ro/crate/1.1/context";
constexpr char kProfile[] = "https://w3id.org/ro/crate/1.1";
constexpr char kProgram[] = "#quern";
// A crate must say something of its licence, and nobody told us.
constexpr char kLicense[] =
    "Unknown to the program that made this crate: each dataset has its own terms, told at its "
    "address.";

json::object reference(std::string_view id) {
  return {{"@id", std::string(id)}};
}

void set_text(json::object& entity, std::string_view key, std::string_view text) {
  if (!text.empty()) entity[key] = valid_utf8(text);
}

json::object descriptor() {
  return {{"@id", kCrateFile},
          {"@type", "CreativeWork"},
          {"conformsTo", reference(kProfile)},
          {"about", reference("./")}};
}

json::object program(const std::string& software) {
  return {{"@id", kProgram}, {"@type", "SoftwareApplication"}, {"name", software}};
}

json::object file_entity(const CrateFile& file) {
  json::object entity = reference(crate_path(file.path));
  entity["@type"] = "File";
  set_text(entity, "name", file.name);
  // Text, as the specification has it.
  entity["contentSize"] = std::to_string(file.bytes);
  set_text(entity, "encodingFormat", file.type);
  set_text(entity, "sha256", file.sha256);
  set_text(entity, "url", file.url);
  return entity;
}

std::string folder_id(const std::string& folder) {
  return crate_path(folder) + "/";
}

json::object dataset_entity(const CrateDataset& dataset) {
  json::object entity = reference(folder_id(dataset.folder));
  entity["@type"] = "Dataset";
  set_text(entity, "name", dataset.name.empty() ? dataset.folder : dataset.name);
  set_text(entity, "identifier", dataset.identifier);
  set_text(entity, "url", dataset.url);
  set_text(entity, "description", dataset.description);
  return entity;
}

json::object fetch_action(const CrateDataset& dataset, std::int64_t number) {
  json::object action = reference(fmt::format("#fetch-{}", number));
  action["@type"] = "CreateAction";
  action["name"] = "The dataset was fetched, and its files were verified";
  action["instrument"] = reference(kProgram);
  action["result"] = reference(folder_id(dataset.folder));
  set_text(action, "object", dataset.url);
  set_text(action, "endTime", dataset.fetched);
  set_text(action, "description", dataset.status);
  return action;
}

}  // namespace

// -- lists --

Result<> CrateWriter::List::put(std::string_view text) {
  waiting_ += text;
  if (waiting_.size() < kWaitingBytesMax) return {};
  TRY(out_.add(waiting_));
  waiting_.clear();
  return {};
}

Result<> CrateWriter::List::add(const json::value& value) {
  TRY(put(has_some_ ? ",\n" : "\n"));
  has_some_ = true;
  return put(json::serialize(value));
}

// An entity whose "hasPart" may be longer than memory.
Result<> CrateWriter::List::add_with_parts(const json::object& entity, List& parts) {
  if (!parts.has_some_) return add(entity);
  std::string text = json::serialize(entity);
  CHECK(text.ends_with('}'));
  text.pop_back();
  TRY(put(has_some_ ? ",\n" : "\n"));
  has_some_ = true;
  TRY(put(text));
  TRY(put(",\"hasPart\":["));
  TRY(parts.out_.add(parts.waiting_));
  const web::Body body = parts.out_.finish();
  TRY(body.read([this](std::string_view piece) { return put(piece); }));
  return put("]}");
}

Result<> CrateWriter::List::copy_to(web::BodyWriter& out) {
  TRY(out_.add(waiting_));
  const web::Body body = out_.finish();
  return body.read([&out](std::string_view piece) { return out.add(piece); });
}

// -- the crate --

CrateWriter::CrateWriter(CrateOptions options)
    : options_(std::move(options)), entities_(options_.spool), root_parts_(options_.spool) {}

Result<> CrateWriter::begin_dataset(CrateDataset dataset) {
  CHECK(!parts_);
  dataset_ = std::move(dataset);
  parts_.emplace(options_.spool);
  ++datasets_;
  return root_parts_.add(reference(folder_id(dataset_.folder)));
}

Result<> CrateWriter::add_file(const CrateFile& file) {
  ++files_;
  List& parts = parts_ ? *parts_ : root_parts_;
  TRY(parts.add(reference(crate_path(file.path))));
  return entities_.add(file_entity(file));
}

Result<> CrateWriter::end_dataset() {
  CHECK(parts_);
  TRY(entities_.add(fetch_action(dataset_, datasets_)));
  json::object entity = dataset_entity(dataset_);
  TRY(entities_.add_with_parts(entity, *parts_));
  parts_.reset();
  return {};
}

Result<web::Body> CrateWriter::finish() {
  CHECK(!parts_);
  const std::string now = io::utc_text(options_.created_us);
  json::object root = reference("./");
  root["@type"] = "Dataset";
  set_text(root, "name", options_.name);
  root["description"] =
      fmt::format("The collection \"{}\": {} datasets, {} files, as {} kept them.",
                  valid_utf8(options_.name), datasets_, files_, options_.software);
  root["datePublished"] = now;
  root["license"] = kLicense;
  TRY(entities_.add_with_parts(root, root_parts_));
  TRY(entities_.add(program(options_.software)));
  TRY(entities_.add(descriptor()));

  web::BodyWriter out(options_.spool);
  // The context of 1.1 is older than schema.org's term for this digest.
  const json::array context{kContext, {{"sha256", "http://schema.org/sha256"}}};
  TRY(out.add(fmt::format("{{\"@context\":{},\n\"@graph\":[", json::serialize(context))));
  TRY(entities_.copy_to(out));
  TRY(out.add("\n]}\n"));
  return out.finish();
}

}  // namespace quern::fileset
