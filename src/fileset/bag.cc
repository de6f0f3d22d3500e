#include "fileset/bag.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <optional>

#include "base/check.h"
#include "base/utf8.h"
#include "blob/digest.h"
#include "fileset/bag_path.h"
#include "fileset/bag_sink.h"
#include "io/clock.h"

namespace quern::fileset {
namespace {

constexpr std::size_t kIdentifiersMax = 1000;  // of bag-info.txt; the crate has all
constexpr std::size_t kWaitingBytesMax = 64 * 1024;
constexpr std::size_t kDateDigits = 10;  // of 2026-11-16T06:00:00Z

constexpr std::array<std::string_view, 3> kAlgorithms = {"md5", "sha256", "sha512"};
enum : std::size_t { Md5, Sha256, Sha512 };
using Digests = std::array<std::string, kAlgorithms.size()>;  // hex

// All digests of bytes that come in pieces.
class Summing {
 public:
  Summing() {
    for (std::size_t i = 0; i < kAlgorithms.size(); ++i) {
      contexts_[i].reset(EVP_MD_CTX_new());
      const EVP_MD* algorithm = EVP_get_digestbyname(std::string(kAlgorithms[i]).c_str());
      CHECK(contexts_[i] != nullptr && algorithm != nullptr);
      CHECK(EVP_DigestInit_ex(contexts_[i].get(), algorithm, nullptr) == 1);
    }
  }
  void add(std::string_view bytes) {
    for (auto& one : contexts_) CHECK(EVP_DigestUpdate(one.get(), bytes.data(), bytes.size()) == 1);
    bytes_ += static_cast<std::int64_t>(bytes.size());
  }
  std::int64_t bytes() const { return bytes_; }
  Digests finish() {
    Digests digests;
    for (std::size_t i = 0; i < contexts_.size(); ++i) {
      unsigned char raw[EVP_MAX_MD_SIZE];
      unsigned size = 0;
      CHECK(EVP_DigestFinal_ex(contexts_[i].get(), raw, &size) == 1);
      digests[i] = blob::hex_of({reinterpret_cast<const char*>(raw), size});
    }
    return digests;
  }

 private:
  using Context = std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)>;
  std::array<Context, kAlgorithms.size()> contexts_ = {Context(nullptr, EVP_MD_CTX_free),
                                                       Context(nullptr, EVP_MD_CTX_free),
                                                       Context(nullptr, EVP_MD_CTX_free)};
  std::int64_t bytes_ = 0;
};

// The lines of a manifest for each algorithm, until their turn comes.
class Manifests {
 public:
  explicit Manifests(const std::filesystem::path& spool)
      : spools_{web::BodyWriter(spool), web::BodyWriter(spool), web::BodyWriter(spool)} {}

  Result<> add(const Digests& digests, const std::string& path) {
    for (std::size_t i = 0; i < kAlgorithms.size(); ++i) {
      waiting_[i] += fmt::format("{}  {}\n", digests[i], manifest_path(path));
      if (waiting_[i].size() < kWaitingBytesMax) continue;
      TRY(spools_[i].add(waiting_[i]));
      waiting_[i].clear();
    }
    return {};
  }
  Result<web::Body> finish(std::size_t i) {
    TRY(spools_[i].add(waiting_[i]));
    return spools_[i].finish();
  }

 private:
  std::array<web::BodyWriter, kAlgorithms.size()> spools_;
  std::array<std::string, kAlgorithms.size()> waiting_;
};

// A value of bag-info.txt is one line.
std::string tag_value(std::string_view text) {
  std::string value = valid_utf8(text);
  for (char& byte : value) {
    if (static_cast<unsigned char>(byte) < ' ' || byte == '\x7f') byte = ' ';
  }
  return value;
}

Error differs(const BagFile& file, std::string_view what, const std::string& is,
              const std::string& known) {
  return {Errc::Corrupt, fmt::format("{}: its {} is {}, and should be {}; run quern check",
                                     valid_utf8(file.path), what, is, known)};
}

}  // namespace

class BagWriter::Core {
 public:
  Core(BagOrder order, std::unique_ptr<BagSink> sink)
      : order_(std::move(order)),
        sink_(std::move(sink)),
        spool_(order_.out.parent_path()),
        crate_({spool_, order_.collection, order_.software, order_.now_us}),
        payload_(spool_),
        tags_(spool_) {}

  Result<> begin_dataset(const BagDataset& dataset);
  Result<> end_dataset();
  Result<> begin_file(const BagFile& file);
  Result<> add(std::string_view bytes);
  Result<> end_file();
  Result<> add_provenance(const std::string& name, std::string_view text);
  Result<BagSums> finish();

 private:
  bool is_bag() const { return order_.kind == BagKind::Bag; }
  Result<> add_body(const std::string& path, const web::Body& body, Manifests* manifests);
  Result<> add_tag(const std::string& path, std::string_view text);
  std::string bag_info() const;

  BagOrder order_;
  std::unique_ptr<BagSink> sink_;
  std::filesystem::path spool_;
  CrateWriter crate_;
  Manifests payload_;
  Manifests tags_;
  BagPaths paths_;
  BagPaths dataset_names_;
  BagPaths provenance_names_;
  std::string folder_ = "files";
  std::vector<std::string> identifiers_;
  BagSums sums_;
  std::int64_t payload_files_ = 0;
  std::int64_t payload_bytes_ = 0;

  BagFile file_;  // under way
  std::string path_;
  std::optional<Summing> summing_;
};

Result<> BagWriter::Core::begin_dataset(const BagDataset& dataset) {
  // One part of a path, and of its own.
  std::string name = dataset.name;
  for (char& byte : name) {
    if (byte == '/') byte = '_';
  }
  TRY_ASSIGN(const std::string own, dataset_names_.take("", name));
  folder_ = "datasets/" + own;
  ++sums_.datasets;
  if (!dataset.identifier.empty() && identifiers_.size() < kIdentifiersMax) {
    identifiers_.push_back(dataset.identifier);
  }
  return crate_.begin_dataset({folder_, dataset.title, dataset.identifier, dataset.url,
                               dataset.description, dataset.fetched, dataset.status});
}

Result<> BagWriter::Core::end_dataset() {
  folder_ = "files";
  return crate_.end_dataset();
}

Result<> BagWriter::Core::begin_file(const BagFile& file) {
  CHECK(!summing_);
  TRY_ASSIGN(path_, paths_.take(folder_, file.path));
  file_ = file;
  summing_.emplace();
  return sink_->begin(is_bag() ? "data/" + path_ : path_);
}

Result<> BagWriter::Core::add(std::string_view bytes) {
  CHECK(summing_);
  summing_->add(bytes);
  return sink_->add(bytes);
}

Result<> BagWriter::Core::end_file() {
  CHECK(summing_);
  const std::int64_t bytes = summing_->bytes();
  const Digests digests = summing_->finish();
  summing_.reset();
  if (file_.bytes >= 0 && bytes != file_.bytes) {
    return differs(file_, "size", std::to_string(bytes), std::to_string(file_.bytes));
  }
  if (!file_.sha256.empty() && digests[Sha256] != file_.sha256) {
    return differs(file_, "SHA-256", digests[Sha256], file_.sha256);
  }
  if (!file_.md5.empty() && digests[Md5] != file_.md5) {
    return differs(file_, "MD5", digests[Md5], file_.md5);
  }
  TRY(sink_->end());
  ++sums_.files;
  sums_.bytes += bytes;
  ++payload_files_;
  payload_bytes_ += bytes;
  TRY(payload_.add(digests, "data/" + path_));
  return crate_.add_file({path_, file_.path, bytes, digests[Sha256], file_.type, file_.url});
}

Result<> BagWriter::Core::add_body(const std::string& path, const web::Body& body,
                                   Manifests* manifests) {
  Summing summing;
  TRY(sink_->begin(path));
  TRY(body.read([&](std::string_view piece) {
    summing.add(piece);
    return sink_->add(piece);
  }));
  TRY(sink_->end());
  if (manifests != nullptr) TRY(manifests->add(summing.finish(), path));
  return {};
}

Result<> BagWriter::Core::add_tag(const std::string& path, std::string_view text) {
  return add_body(path, web::BodyWriter::in_memory(std::string(text)), &tags_);
}

Result<> BagWriter::Core::add_provenance(const std::string& name, std::string_view text) {
  CHECK(!summing_);
  if (!is_bag()) return {};
  TRY_ASSIGN(const std::string own, provenance_names_.take("", name));
  return add_tag("provenance/" + own, text);
}

std::string BagWriter::Core::bag_info() const {
  std::string text;
  const auto put = [&text](std::string_view label, std::string_view value) {
    if (!value.empty()) text += fmt::format("{}: {}\n", label, tag_value(value));
  };
  put("Source-Organization", order_.organization);
  put("Bagging-Date", io::utc_text(order_.now_us).substr(0, kDateDigits));
  put("Bag-Software-Agent", order_.software);
  put("Internal-Sender-Identifier", order_.collection);
  put("External-Description", fmt::format("The collection {}: {} datasets, {} files",
                                          order_.collection, sums_.datasets, sums_.files));
  for (const std::string& identifier : identifiers_) put("External-Identifier", identifier);
  put("Payload-Oxum", fmt::format("{}.{}", payload_bytes_, payload_files_));
  return text;
}

Result<BagSums> BagWriter::Core::finish() {
  CHECK(!summing_);
  if (is_bag()) {
    TRY_ASSIGN(const web::Body crate, crate_.finish());
    TRY(add_body(fmt::format("data/{}", kCrateFile), crate, &payload_));
    ++payload_files_;
    payload_bytes_ += crate.size();
    for (std::size_t i = 0; i < kAlgorithms.size(); ++i) {
      TRY_ASSIGN(const web::Body lines, payload_.finish(i));
      TRY(add_body(fmt::format("manifest-{}.txt", kAlgorithms[i]), lines, &tags_));
    }
    TRY(add_tag("bag-info.txt", bag_info()));
    TRY(add_tag("bagit.txt", "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"));
    for (std::size_t i = 0; i < kAlgorithms.size(); ++i) {
      TRY_ASSIGN(const web::Body lines, tags_.finish(i));
      TRY(add_body(fmt::format("tagmanifest-{}.txt", kAlgorithms[i]), lines, nullptr));
    }
  }
  TRY(sink_->finish());
  return sums_;
}

// -- the writer --

Result<BagWriter> BagWriter::create(BagOrder order) {
  CHECK(order.out.is_absolute());
  const bool zip = order.out.extension() == ".zip";
  TRY_ASSIGN(std::unique_ptr<BagSink> sink,
             zip ? open_zip_sink(order.out, order.now_us) : open_folder_sink(order.out));
  return BagWriter(std::make_unique<Core>(std::move(order), std::move(sink)));
}

BagWriter::BagWriter(std::unique_ptr<Core> core) : core_(std::move(core)) {}
BagWriter::~BagWriter() = default;
BagWriter::BagWriter(BagWriter&&) noexcept = default;

Result<> BagWriter::begin_dataset(const BagDataset& dataset) {
  return core_->begin_dataset(dataset);
}
Result<> BagWriter::end_dataset() {
  return core_->end_dataset();
}
Result<> BagWriter::begin_file(const BagFile& file) {
  return core_->begin_file(file);
}
Result<> BagWriter::add(std::string_view bytes) {
  return core_->add(bytes);
}
Result<> BagWriter::end_file() {
  return core_->end_file();
}
Result<> BagWriter::add_provenance(const std::string& name, std::string_view text) {
  return core_->add_provenance(name, text);
}
Result<BagSums> BagWriter::finish() {
  return core_->finish();
}

}  // namespace quern::fileset
