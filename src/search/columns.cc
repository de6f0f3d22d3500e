#include "search/columns.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "search/codec.h"
#include "search/query.h"
#include "search/sqlite_file.h"

namespace quern::search {
namespace {

constexpr char kInsert[] = "INSERT INTO col(name, bytes, data) VALUES(?1, ?2, ?3)";
constexpr char kSelect[] = "SELECT bytes, data FROM col WHERE name = ?1";

static_assert(std::endian::native == std::endian::little, "columns are written as they lie");

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

class Saver {
 public:
  explicit Saver(Statement insert) : insert_(std::move(insert)) {}
  Result<> save(std::string_view name, std::string_view bytes) {
    const Packed packed = pack_text(bytes);
    insert_.bind_text(1, name);
    insert_.bind(2, static_cast<std::int64_t>(packed.text_bytes));
    insert_.bind_blob(3, packed.bytes);
    return insert_.run();
  }

 private:
  Statement insert_;
};

class Loader {
 public:
  Loader(Statement select, std::size_t documents)
      : select_(std::move(select)), documents_(documents) {}

  Result<std::string> bytes(std::string_view name) {
    const ResetAtEnd reset(select_);
    select_.bind_text(1, name);
    TRY_ASSIGN(const bool there, select_.step());
    if (!there) return Error{Errc::Corrupt, "pack: no column " + std::string(name)};
    std::string buffer;
    TRY_ASSIGN(const auto view, unpack_text(select_.bytes(1), select_.number(0), buffer));
    return std::string(view);
  }

  template <class T>
  Result<> values(std::string_view name, std::vector<T>& into) {
    TRY_ASSIGN(const std::string data, bytes(name));
    if (data.size() != documents_ * sizeof(T)) return wrong(name);
    into.resize(documents_);
    if (!data.empty()) std::memcpy(into.data(), data.data(), data.size());
    return {};
  }

  static Error wrong(std::string_view name) {
    return {Errc::Corrupt, "pack: column " + std::string(name) + " is damaged"};
  }

 private:
  Statement select_;
  std::size_t documents_;
};

Result<> load_types(Loader& loader, Columns& columns) {
  TRY_ASSIGN(const std::string data, loader.bytes("types"));
  std::size_t at = 0;
  while (at < data.size()) {
    std::uint64_t size = 0;
    if (!take_varint(data, at, size) || size > kTypeBytesMax || size > data.size() - at) {
      return Loader::wrong("types");
    }
    columns.types.push_back(data.substr(at, size));
    at += size;
  }
  return {};
}

Result<> load_jobs(Loader& loader, Columns& columns) {
  TRY_ASSIGN(const std::string data, loader.bytes("jobs"));
  if (data.size() % sizeof(std::int64_t) != 0) return Loader::wrong("jobs");
  columns.jobs.resize(data.size() / sizeof(std::int64_t));
  if (!data.empty()) std::memcpy(columns.jobs.data(), data.data(), data.size());
  return {};
}

bool all_below(const std::vector<std::uint32_t>& values, std::size_t limit) {
  return std::ranges::all_of(values, [limit](std::uint32_t value) { return value < limit; });
}

Result<> check(const Columns& columns) {
  if (!all_below(columns.type, columns.types.size())) return Loader::wrong("type");
  if (!all_below(columns.job, columns.jobs.size())) return Loader::wrong("job");
  if (!all_below(columns.path, columns.documents())) return Loader::wrong("path");
  if (!std::ranges::is_sorted(columns.day)) return Loader::wrong("day");
  return {};
}

}  // namespace

std::pair<std::uint32_t, std::uint32_t> Columns::rows_of_days(std::int32_t first,
                                                              std::int32_t last) const {
  // Those without a day belong to no range of days.
  first = std::max(first, kNoDay + 1);
  const auto from = std::ranges::lower_bound(day, first);
  const auto to = std::ranges::upper_bound(day, last);
  return {static_cast<std::uint32_t>(from - day.begin()) + 1,
          static_cast<std::uint32_t>(to - day.begin())};
}

std::string document_path(std::string_view url, std::string_view filename) {
  if (url.empty()) return fold_path(filename);
  const std::size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) {
    const std::size_t slash = url.find_first_of("/?#", scheme + 3);
    url = slash == std::string_view::npos ? std::string_view() : url.substr(slash);
  }
  return fold_path(url.substr(0, url.find_first_of("?#")));
}

void Columns::reserve(std::size_t documents) {
  file.reserve(documents);
  length.reserve(documents);
  type.reserve(documents);
  day.reserve(documents);
  path.reserve(documents);
  job.reserve(documents);
  tie.reserve(documents);
}

Result<> Columns::save(SqliteFile& pack) const {
  TRY_ASSIGN(Statement insert, pack.prepare(kInsert));
  Saver saver(std::move(insert));
  std::string names;
  for (const std::string& name : types) {
    put_varint(names, name.size());
    names += name;
  }
  TRY(saver.save("file", bytes_of(file)));
  TRY(saver.save("length", bytes_of(length)));
  TRY(saver.save("type", bytes_of(type)));
  TRY(saver.save("day", bytes_of(day)));
  TRY(saver.save("path", bytes_of(path)));
  TRY(saver.save("job", bytes_of(job)));
  TRY(saver.save("tie", bytes_of(tie)));
  TRY(saver.save("types", names));
  return saver.save("jobs", bytes_of(jobs));
}

Result<Columns> Columns::load(SqliteFile& pack, std::int64_t documents) {
  TRY_ASSIGN(Statement select, pack.prepare(kSelect));
  Loader loader(std::move(select), static_cast<std::size_t>(documents));
  Columns columns;
  TRY(loader.values("file", columns.file));
  TRY(loader.values("length", columns.length));
  TRY(loader.values("type", columns.type));
  TRY(loader.values("day", columns.day));
  TRY(loader.values("path", columns.path));
  TRY(loader.values("job", columns.job));
  TRY(loader.values("tie", columns.tie));
  TRY(load_types(loader, columns));
  TRY(load_jobs(loader, columns));
  TRY(check(columns));
  return columns;
}

}  // namespace quern::search
