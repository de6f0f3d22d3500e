#include "search/pack_finish.h"

#include <algorithm>
#include <numeric>

#include "blob/digest.h"
#include "io/file.h"
#include "search/codec.h"
#include "search/fts.h"
#include "search/pack_format.h"
#include "search/sqlite_file.h"

namespace quern::search {
namespace {

// A crash leaves a file that nobody opens, so nothing is synced before the last commit.
constexpr char kBuilding[] =
    "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -4096;";
// Segments of FTS5 are joined once, at the end. A server that packs while it imports must not grow
// with what comes in, so few bytes are held, though more of them would be faster by a quarter.
constexpr char kTuneWords[] =
    "INSERT INTO words(words, rank) VALUES('hashsize', 2097152);"
    "INSERT INTO words(words, rank) VALUES('automerge', 0);"
    "INSERT INTO words(words, rank) VALUES('crisismerge', 1000);";
constexpr char kOptimize[] = "INSERT INTO words(words) VALUES('optimize')";
constexpr char kCount[] = "SELECT count(*) FROM doc";
constexpr char kOrder[] = "SELECT file FROM doc ORDER BY day, tie DESC, file DESC";
constexpr char kStaged[] =
    "SELECT job, day, tie, page, title, filename, author, sender, url, type, path, text_bytes,"
    " page_ends, text FROM doc WHERE file = ?1";
constexpr char kIndex[] =
    "INSERT INTO words(rowid, title, filename, author, sender, text)"
    " VALUES(?1, ?2, ?3, ?4, ?5, ?6)";
constexpr char kDocument[] =
    "INSERT INTO doc(row, page, title, filename, author, sender, url, text_bytes, page_ends, text)"
    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
constexpr char kPath[] = "INSERT INTO path(row, path) VALUES(?1, ?2)";
constexpr char kPathOrder[] = "SELECT row FROM path ORDER BY path, row";
constexpr char kMeta[] =
    "INSERT INTO meta(format, documents, length, text_bytes) VALUES(?1, ?2, ?3, ?4)";

constexpr std::size_t kDigestChunk = 1024 * 1024;

enum Staged : std::uint8_t {
  Job,
  Day,
  Tie,
  Page,
  Title,
  Filename,
  Author,
  Sender,
  Url,
  Type,
  Path,
  TextBytes,
  PageEnds,
  Text
};

class Finisher {
 public:
  Finisher(SqliteFile& stage, SqliteFile& pack) : stage_(stage), pack_(pack) {}

  Result<> run();
  const Columns& columns() const { return columns_; }

 private:
  Result<> order();
  Result<> index_all();
  Result<> index(std::uint32_t row, std::string& buffer);
  Result<> copy_documents();
  Result<> rank_paths();
  Result<> write_meta();
  Result<> stage_row(std::uint32_t row);

  SqliteFile& stage_;
  SqliteFile& pack_;
  Columns columns_;
  Places<std::string> types_;
  Places<std::int64_t> jobs_;
  Statement staged_;
  Statement index_;
  Statement path_;
  RowHits hits_;
  WordCount count_;
  RealWords words_;
  std::int64_t text_bytes_ = 0;
};

// The columns are all that grows with the documents: they are made as large as they will be, for to
// grow a vector takes three times its bytes.
Result<> Finisher::order() {
  TRY_ASSIGN(const std::int64_t documents, stage_.number(kCount));
  columns_.reserve(static_cast<std::size_t>(documents));
  TRY_ASSIGN(Statement order, stage_.prepare(kOrder));
  while (true) {
    TRY_ASSIGN(const bool more, order.step());
    if (!more) return {};
    columns_.file.push_back(order.number(0));
  }
}

Result<> Finisher::stage_row(std::uint32_t row) {
  staged_.reset();
  staged_.bind(1, columns_.file[row - 1]);
  TRY_ASSIGN(const bool there, staged_.step());
  if (!there) return Error{Errc::Corrupt, "a staged document is gone"};
  return {};
}

Result<> Finisher::index(std::uint32_t row, std::string& buffer) {
  TRY(stage_row(row));
  TRY_ASSIGN(const std::string_view text,
             unpack_text(staged_.bytes(Text), staged_.number(TextBytes), buffer));
  count_.tokens = 0;
  index_.bind(1, row).bind_text(2, staged_.bytes(Title)).bind_text(3, staged_.bytes(Filename));
  index_.bind_text(4, staged_.bytes(Author)).bind_text(5, staged_.bytes(Sender));
  index_.bind_text(6, text);
  TRY(index_.run());
  text_bytes_ += static_cast<std::int64_t>(text.size());
  columns_.length.push_back(count_.tokens);
  columns_.day.push_back(static_cast<std::int32_t>(staged_.number(Day)));
  columns_.tie.push_back(static_cast<std::uint32_t>(staged_.number(Tie)));
  columns_.type.push_back(types_.of(std::string(staged_.bytes(Type)), columns_.types));
  columns_.job.push_back(jobs_.of(staged_.number(Job), columns_.jobs));
  path_.bind(1, row).bind_text(2, staged_.bytes(Path));
  return path_.run();
}

Result<> Finisher::index_all() {
  TRY_ASSIGN(staged_, stage_.prepare(kStaged));
  TRY_ASSIGN(path_, stage_.prepare(kPath));
  TRY_ASSIGN(index_, pack_.prepare(kIndex));
  TRY(stage_.run("BEGIN"));
  std::string buffer;
  for (std::uint32_t row = 1; row <= columns_.documents(); ++row) TRY(index(row, buffer));
  staged_.reset();
  TRY(stage_.run("COMMIT"));
  index_ = {};
  return pack_.run(kOptimize);
}

// After the index, so that the pages that joining its segments left free are used.
Result<> Finisher::copy_documents() {
  TRY_ASSIGN(Statement insert, pack_.prepare(kDocument));
  for (std::uint32_t row = 1; row <= columns_.documents(); ++row) {
    TRY(stage_row(row));
    insert.bind(1, row).bind(2, staged_.number(Page)).bind_text(3, staged_.bytes(Title));
    insert.bind_text(4, staged_.bytes(Filename)).bind_text(5, staged_.bytes(Author));
    insert.bind_text(6, staged_.bytes(Sender)).bind_text(7, staged_.bytes(Url));
    insert.bind(8, staged_.number(TextBytes)).bind_blob(9, staged_.bytes(PageEnds));
    insert.bind_blob(10, staged_.bytes(Text));
    TRY(insert.run());
  }
  staged_ = {};
  return {};
}

Result<> Finisher::rank_paths() {
  TRY_ASSIGN(Statement order, stage_.prepare(kPathOrder));
  columns_.path.resize(columns_.documents());
  for (std::uint32_t rank = 0;; ++rank) {
    TRY_ASSIGN(const bool more, order.step());
    if (!more) return {};
    columns_.path.at(static_cast<std::size_t>(order.number(0)) - 1) = rank;
  }
}

Result<> Finisher::write_meta() {
  const std::int64_t length =
      std::accumulate(columns_.length.begin(), columns_.length.end(), std::int64_t{0});
  TRY_ASSIGN(Statement meta, pack_.prepare(kMeta));
  meta.bind(1, kPackFormat).bind(2, static_cast<std::int64_t>(columns_.documents()));
  meta.bind(3, length).bind(4, text_bytes_);
  return meta.run();
}

Result<> Finisher::run() {
  count_.on_word = [this](std::string_view word) { words_.add(word); };
  TRY(register_fts(pack_.get(), &hits_));
  TRY(count_words(pack_.get(), &count_));
  TRY(pack_.run(kBuilding));
  TRY(pack_.run("BEGIN"));
  TRY(pack_.run(kPackSchema));
  TRY(pack_.run(kTuneWords));
  TRY(order());
  TRY(index_all());
  TRY(copy_documents());
  TRY(rank_paths());
  TRY(write_terms(pack_, words_, columns_.documents()));
  TRY(write_lists(pack_, columns_, hits_));
  TRY(columns_.save(pack_));
  TRY(pack_.run("COMMIT"));
  // The last commit syncs the whole file, with all that went before.
  TRY(pack_.run("PRAGMA application_id = 0x5175726E; PRAGMA synchronous = FULL; BEGIN"));
  TRY(write_meta());
  return pack_.run("COMMIT");
}

Result<std::string> digest_of(const std::filesystem::path& path, std::int64_t& bytes) {
  TRY_ASSIGN(const io::FileReader reader, io::FileReader::open(path));
  blob::Digest digest(blob::Digest::Kind::Sha256);
  std::string chunk(kDigestChunk, '\0');
  for (bytes = 0; bytes < reader.size_bytes();) {
    TRY_ASSIGN(const std::size_t got, reader.read_at(bytes, chunk));
    if (got == 0) return Error{Errc::Unavailable, "a pack became shorter"};
    digest.add(std::string_view(chunk).substr(0, got));
    bytes += static_cast<std::int64_t>(got);
  }
  return blob::hex_of(digest.finish());
}

}  // namespace

RealWords::RealWords() : bits_(kRealWordBits / 64) {}

// Two bits for a word, of the halves of one hash.
void RealWords::add(std::string_view word) {
  const std::uint64_t hash = stable_hash(word, 1);
  for (const std::uint64_t bit : {hash % kRealWordBits, (hash >> 32) % kRealWordBits}) {
    bits_[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
}

bool RealWords::may_have(std::string_view word) const {
  const std::uint64_t hash = stable_hash(word, 1);
  const auto is_set = [this](std::uint64_t bit) {
    return ((bits_[bit / 64] >> (bit % 64)) & 1) != 0;
  };
  return is_set(hash % kRealWordBits) && is_set((hash >> 32) % kRealWordBits);
}

Result<PackInfo> finish_pack(SqliteFile& stage, const std::filesystem::path& path,
                             const std::atomic<bool>* stopping) {
  PackInfo info;
  TRY(io::make_private_file(path));
  {
    TRY_ASSIGN(SqliteFile pack, SqliteFile::open(path, SqliteFile::Mode::Create));
    pack.interrupt_when(stopping);
    // On the heap: a connection keeps addresses of what is inside.
    const auto finisher = std::make_unique<Finisher>(stage, pack);
    const auto ran = finisher->run();
    SqliteFile closing = std::move(pack);  // before the finisher goes
    TRY(ran);
    const auto& files = finisher->columns().file;
    info.documents = static_cast<std::int64_t>(files.size());
    if (!files.empty()) {
      info.file_min = *std::ranges::min_element(files);
      info.file_max = *std::ranges::max_element(files);
    }
  }
  TRY_ASSIGN(info.digest, digest_of(path, info.file_bytes));
  return info;
}

}  // namespace quern::search
