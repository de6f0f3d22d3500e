#include "blob/check.h"

#include <fmt/format.h>

#include <set>

#include "blob/blob.h"
#include "blob/place.h"

namespace quern::blob {
namespace {

using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

// With their data: a page is at most a megabyte.
constexpr Sql kPage{"SELECT id FROM blob WHERE id > $1 ORDER BY id LIMIT 64"};
constexpr Sql kAlive{"SELECT id, name FROM blob_session WHERE NOT dead ORDER BY id LIMIT 100000"};
constexpr Sql kNamed{"SELECT place FROM blob WHERE place = $1",
                     "SELECT place FROM blob WHERE place = ANY($1::text[]) LIMIT 100000"};

constexpr std::size_t kReadBytes = 1024 * 1024;

Result<std::vector<Blob>> load_page(Tx& tx, BlobId after) {
  TRY_ASSIGN(const Rows rows, tx.query(kPage, after));
  std::vector<BlobId> ids;
  for (const Row row : rows) ids.push_back(row.get<BlobId>(0));
  return load_blobs(tx, ids, Data::With);
}

// Whether it was deleted since it was listed.
bool is_gone(const BlobStore& store, BlobId id) {
  const auto load = [id](Tx& tx) { return load_blob(tx, id, Data::Without); };
  const Result<Blob> found = store.readers().run(load);
  return !found.ok() && found.error().kind() == Errc::Missing;
}

// Empty where it is well.
std::string problem_with(const BlobStore& store, const Blob& blob, std::string& buffer) {
  Result<BlobReader> opened = store.open_blob(blob);
  if (!opened.ok() && opened.error().kind() == Errc::Missing && is_gone(store, blob.id)) return {};
  if (!opened.ok()) {
    return fmt::format("blob {}: its bytes cannot be read: {}", blob.id, opened.error().message());
  }
  VerifyingReader reader(*std::move(opened), blob);
  Digest sha1(Digest::Kind::Sha1);
  while (true) {
    const Result<std::size_t> got = reader.read(buffer);
    if (!got.ok()) return fmt::format("blob {}: {}", blob.id, got.error().message());
    if (*got == 0) break;
    sha1.add(std::string_view(buffer.data(), *got));
  }
  if (sha1.finish() == blob.sha1) return {};
  return fmt::format("blob {}: its SHA-1 differs from the row's", blob.id);
}

// False: enough was found.
bool add_finding(std::vector<std::string>& findings, std::string finding) {
  if (findings.size() == kFindingsMax) {
    findings.push_back("and others: only the first are listed");
    return false;
  }
  findings.push_back(std::move(finding));
  return true;
}

Result<std::set<std::string>> living_sessions(Tx& tx) {
  TRY_ASSIGN(const Rows rows, tx.query(kAlive));
  std::set<std::string> names;
  for (const Row row : rows) {
    names.insert(session_name(row.get<std::int64_t>(0), row.get<std::string>(1)));
  }
  return names;
}

Result<std::vector<std::string>> nameless_of(BlobStore& store, const std::string& session) {
  std::vector<std::string> nameless;
  std::string after;
  do {
    TRY_ASSIGN(const Listing listing, store.backend().list(session, after));
    store::Bulk places;
    for (const std::string& place : listing.places) places.add(place);
    TRY_ASSIGN(const Rows rows,
               store.readers().run([&](Tx& tx) { return tx.bulk(kNamed, places); }));
    std::set<std::string> named;
    for (const Row row : rows) named.insert(row.get<std::string>(0));
    for (const std::string& place : listing.places) {
      if (!named.contains(place)) nameless.push_back(place);
    }
    nameless.insert(nameless.end(), listing.leftovers.begin(), listing.leftovers.end());
    after = listing.next;
  } while (!after.empty() && nameless.size() <= kFindingsMax);
  return nameless;
}

}  // namespace

Result<std::vector<std::string>> check_blobs(BlobStore& store) {
  std::vector<std::string> problems;
  std::string buffer(kReadBytes, '\0');
  BlobId after;
  while (true) {
    TRY_ASSIGN(const std::vector<Blob> page,
               store.readers().run([after](Tx& tx) { return load_page(tx, after); }));
    if (page.empty()) return problems;
    for (const Blob& blob : page) {
      std::string problem = problem_with(store, blob, buffer);
      if (!problem.empty() && !add_finding(problems, std::move(problem))) return problems;
    }
    after = page.back().id;
  }
}

Result<std::vector<std::string>> find_orphans(BlobStore& store) {
  std::vector<std::string> orphans;
  std::string after;
  while (true) {
    TRY_ASSIGN(const std::vector<std::string> sessions, store.backend().list_sessions(after));
    if (sessions.empty()) return orphans;
    TRY_ASSIGN(const std::set<std::string> living, store.readers().run(living_sessions));
    for (const std::string& session : sessions) {
      if (living.contains(session)) continue;
      TRY_ASSIGN(const std::vector<std::string> nameless, nameless_of(store, session));
      for (const std::string& place : nameless) {
        if (!add_finding(orphans, place)) return orphans;
      }
    }
    after = sessions.back();
  }
}

}  // namespace quern::blob
