#include "support/platform_site/dataset.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

namespace quern::platform_site {
namespace {

using support::Fault;

constexpr std::int64_t kUsual = 20'000;  // bytes
constexpr std::int64_t kHalf = kUsual / 2;
constexpr int kMany = 30;
constexpr std::int64_t kDripAfter = kUsual - 200;

std::string digest(const EVP_MD* kind, const std::string& bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, kind, nullptr);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

void add_file(Dataset& dataset, std::string path, std::int64_t size) {
  DataFile file;
  file.path = std::move(path);
  file.size = size;
  file.seed = static_cast<std::uint64_t>(dataset.number) * 100 + dataset.files.size();
  const std::string bytes = support::made_bytes(file.seed, 0, static_cast<std::size_t>(size));
  file.md5 = digest(EVP_md5(), bytes);
  file.sha1 = digest(EVP_sha1(), bytes);
  file.sha256 = digest(EVP_sha256(), bytes);
  dataset.files.push_back(std::move(file));
}

Dataset usual(std::string name, int number) {
  Dataset dataset;
  dataset.name = std::move(name);
  dataset.number = number;
  add_file(dataset, "data.bin", kUsual);
  add_file(dataset, "notes.bin", 300);
  return dataset;
}

Dataset with_api(std::string name, int number, ApiFault fault) {
  Dataset dataset = usual(std::move(name), number);
  dataset.api = fault;
  return dataset;
}

Dataset with_faults(std::string name, int number, std::vector<Fault> faults) {
  Dataset dataset = usual(std::move(name), number);
  dataset.faults = std::move(faults);
  return dataset;
}

Fault fault(Fault::Kind kind, int nth, std::int64_t after) {
  Fault made;
  made.kind = kind;
  made.nth = nth;
  made.after = after;
  return made;
}

Fault status(int code) {
  Fault made;
  made.status = code;
  made.headers = {{"Retry-After", "1"}};
  return made;
}

std::vector<Dataset> calm_datasets() {
  Dataset single = usual("single", 1001);
  single.files.pop_back();
  Dataset folders = usual("folders", 1002);
  add_file(folders, "a/data.bin", 400);
  add_file(folders, "a/b/c/data.bin", 500);
  Dataset many = usual("many", 1003);
  for (int i = 2; i < kMany; ++i) add_file(many, fmt::format("part{:02}.bin", i), 100 + i);
  Dataset zero = usual("zero", 1004);
  add_file(zero, "nothing.bin", 0);
  return {usual("plain", 1000), single, folders, many, zero};
}

// The first file, that breaks off in its middle, so that the second request asks for the rest.
std::vector<Dataset> faulty_datasets() {
  const Fault reset = fault(Fault::Kind::Reset, 1, kHalf);
  Fault changed = fault(Fault::Kind::Changed, 2, 0);
  changed.changed.size = kUsual;
  changed.changed.seed = 1022 * 100;
  changed.changed.etag = "\"two\"";
  Fault signs = fault(Fault::Kind::Signed, 1, 0);
  signs.times = 1'000;
  signs.uses = 2;
  return {
      with_faults("reset", 1020, {reset}),
      with_faults("wrongrange", 1021, {reset, fault(Fault::Kind::WrongStart, 2, 0)}),
      with_faults("etag", 1022, {reset, changed}),
      with_faults("signed", 1023, {signs}),
      with_faults("drip", 1024, {fault(Fault::Kind::Drip, 1, kDripAfter)}),
      with_faults("errorxml", 1025, {reset, fault(Fault::Kind::Garbage, 2, 100)}),
      with_faults("corrupt", 1026, {fault(Fault::Kind::Corrupt, 1, kHalf)}),
      with_faults("short", 1027, {fault(Fault::Kind::Cut, 1, kHalf)}),
      with_faults("file429", 1028, {status(429)}),
      with_faults("file503", 1029, {status(503)}),
  };
}

}  // namespace

std::vector<Dataset> all_datasets() {
  std::vector<Dataset> all = calm_datasets();
  all.push_back(with_api("api429", 1010, ApiFault::TooMany));
  all.push_back(with_api("api503", 1011, ApiFault::Unavailable));
  all.push_back(with_api("cutjson", 1012, ApiFault::CutJson));
  all.push_back(with_api("gone", 1013, ApiFault::Gone));
  all.push_back(with_api("restricted", 1014, ApiFault::Restricted));
  all.push_back(with_api("empty", 1015, ApiFault::Empty));
  for (Dataset& dataset : faulty_datasets()) all.push_back(std::move(dataset));
  return all;
}

}  // namespace quern::platform_site
