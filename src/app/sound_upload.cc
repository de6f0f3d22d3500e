#include "app/sound_upload.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "app/add_upload.h"
#include "app/ask.h"
#include "app/output.h"
#include "app/read_text.h"
#include "app/source_walk.h"
#include "blob/digest.h"
#include "io/file.h"
#include "net/target.h"
#include "queue/await.h"
#include "research/curation.h"
#include "research/sound_type.h"

namespace quern::app {
namespace {

namespace json = boost::json;

constexpr std::size_t kHashBytes = 256 * 1024;

// "" where it is sound, else why it is left out.
Result<std::string> why_not(const std::string& path, const std::string& name) {
  TRY_ASSIGN(const io::FileReader file, io::FileReader::open(path));
  std::string head(research::kSoundHeadBytes, '\0');
  TRY_ASSIGN(const std::size_t got, file.read_at(0, head));
  head.resize(got);
  if (head.empty()) return std::string("it is empty");
  if (!research::sound_type_of(head).empty()) return std::string();
  if (const std::string_view what = research::not_sound(head); !what.empty()) {
    return fmt::format("it is {}, not sound", what);
  }
  return std::string(research::has_sound_suffix(name) ? "" : "it is no sound that we know");
}

Result<std::string> hash_of(const std::string& path) {
  TRY_ASSIGN(const io::FileReader file, io::FileReader::open(path));
  blob::Digest digest(blob::Digest::Kind::Sha256);
  std::vector<char> buffer(kHashBytes);
  for (std::int64_t offset = 0;;) {
    TRY_ASSIGN(const std::size_t got, file.read_at(offset, buffer));
    if (got == 0) return blob::hex_of(digest.finish());
    digest.add({buffer.data(), got});
    offset += static_cast<std::int64_t>(got);
  }
}

}  // namespace

std::string SoundUpload::collection() const {
  return order_.collection.empty() ? "default" : order_.collection;
}

net::Task<Result<std::vector<SoundFile>>> SoundUpload::find(std::vector<std::string> paths) {
  CO_TRY_ASSIGN(SourceWalk walk, SourceWalk::open(paths));
  std::vector<SoundFile> files;
  while (true) {
    SourceWalk* walking = &walk;
    struct Looked {
      std::optional<SourceFile> source;
      std::string why;
      std::string sha256;
    };
    auto look = [walking]() -> Result<Looked> {
      Looked looked;
      TRY_ASSIGN(looked.source, walking->next());
      if (!looked.source) return looked;
      const std::string path = looked.source->path.string();
      const Result<std::string> why = why_not(path, looked.source->name);
      looked.why = why.ok() ? *why : why.error().message();
      if (!looked.why.empty()) return looked;
      TRY_ASSIGN(looked.sha256, hash_of(path));
      return looked;
    };
    CO_TRY_ASSIGN(const Looked looked,
                  co_await queue::offload(command_.loop, pool_, std::move(look)));
    if (!looked.source) break;
    const SourceFile& source = *looked.source;
    if (!looked.why.empty()) {
      complain(fmt::format("quern: left out {}: {}", printable(source.name), looked.why));
      continue;
    }
    files.push_back({source.path.string(), source.name, looked.sha256, 0});
    if (files.size() > research::kSourcesMax) {
      co_return over_limit("files at once", static_cast<std::int64_t>(files.size()),
                           static_cast<std::int64_t>(research::kSourcesMax),
                           "research.sources_max");
    }
  }
  if (walk.skipped() > 0) {
    complain(fmt::format("quern: left out {}",
                         count_text(walk.skipped(), "link or device", "links and devices")));
  }
  co_return files;
}

// The same bytes are not sent again.
net::Task<Result<>> SoundUpload::look_up(SoundFile& file) {
  std::string target = fmt::format("/api/v1/{}", research::job_kind_of(order_.kind));
  net::append_query(target, "sha256", file.sha256);
  net::append_query(target, "collection", collection());
  net::Request request = net::get_request(target);
  CO_TRY_ASSIGN(const json::value answer, co_await call(door_, std::move(request)));
  for (const json::value& item : answer.as_object().at("items").as_array()) {
    file.file = number_in(item.as_object(), "file");
  }
  co_return Result<>();
}

net::Task<Result<>> SoundUpload::upload(std::vector<SoundFile>& files) {
  AddOrder add;
  add.collection = collection();
  std::string all = add.collection;
  std::vector<SoundFile*> sent;
  for (SoundFile& file : files) {
    if (file.file != 0) continue;
    add.paths.push_back(file.path);
    all += file.sha256 + file.path;
    sent.push_back(&file);
  }
  if (sent.empty()) co_return Result<>();
  // The same files mean the same job, while that runs.
  const std::string base = fmt::format("add-{}:{}", research::job_kind_of(order_.kind),
                                       blob::hex_of(blob::sha256_of(all)).substr(0, 32));
  const json::object body{{"collection", add.collection},
                          {"source", printable(files.front().path).substr(0, 500)},
                          {"resumes", base},
                          {"key", base + ":" + make_random_key()}};
  net::Request open = net::post_request("/api/v1/jobs", json::serialize(body), "application/json");
  open.repeat = net::Repeat::Always;
  CO_TRY_ASSIGN(const json::value opened, co_await call(door_, std::move(open)));
  const std::int64_t job = number_in(opened.as_object(), "job");
  if (!opened.as_object().at("sealed").as_bool()) {
    Uploader uploader(command_, door_, add, job);
    CO_TRY(co_await uploader.send_all());
    net::Request seal =
        net::post_request(fmt::format("/api/v1/jobs/{}/seal", job), "{}", "application/json");
    seal.repeat = net::Repeat::Always;
    CO_TRY(co_await call(door_, std::move(seal)));
  }
  auto note = [&sent](const json::object& root) -> Result<> {
    const auto index = static_cast<std::size_t>(number_in(root, "index"));
    if (index < sent.size()) sent[index]->file = number_in(root, "file");
    return {};
  };
  std::string roots = fmt::format("/api/v1/jobs/{}/roots", job);
  Each each = note;
  CO_TRY(co_await walk_pages(door_, std::move(roots), std::move(each)));
  co_return Result<>();
}

net::Task<Result<json::array>> SoundUpload::send(std::vector<std::string> paths) {
  CO_TRY_ASSIGN(std::vector<SoundFile> files, co_await find(std::move(paths)));
  for (SoundFile& file : files) CO_TRY(co_await look_up(file));
  CO_TRY(co_await upload(files));
  json::array sources;
  for (const SoundFile& file : files) {
    if (file.file == 0) {
      complain(fmt::format("quern: left out {}: it could not be read", printable(file.name)));
      continue;
    }
    // By its name now, which may be another one than it was sent with.
    std::string title = file.name.substr(file.name.rfind('/') + 1);
    if (title.rfind('.') != title.npos && title.rfind('.') > 0) title.resize(title.rfind('.'));
    if (!order_.title.empty()) title = order_.title;
    json::object source{{"file", file.file}, {"title", title}};
    if (!order_.description.empty()) source["description"] = order_.description;
    if (!order_.aired.empty()) source["date_aired"] = order_.aired;
    sources.push_back(std::move(source));
  }
  co_return sources;
}

}  // namespace quern::app
