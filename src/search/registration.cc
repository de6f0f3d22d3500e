#include "search/registration.h"

#include <boost/json.hpp>
#include <optional>

namespace quern::search {
namespace {

namespace json = boost::json;
using store::Row;
using store::Rows;
using store::Sql;
using store::Tx;

constexpr Sql kFind{
    "SELECT id, address, free_mb, held, message, seen_us FROM searcher WHERE id = $1"};
constexpr Sql kList{
    "SELECT id, address, free_mb, held, message, seen_us FROM searcher ORDER BY id LIMIT $1"};
constexpr Sql kPut{
    "INSERT INTO searcher (id, address, free_mb, held, message, seen_us)"
    " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO UPDATE SET address = excluded.address,"
    " free_mb = excluded.free_mb, held = excluded.held, message = excluded.message,"
    " seen_us = excluded.seen_us"};
constexpr Sql kRemove{"DELETE FROM searcher WHERE id = $1"};

Registration registration_of(const Row& row) {
  Registration one;
  one.id = row.get<std::string>(0);
  one.address = row.get<std::string>(1);
  one.free_mb = row.get<std::int64_t>(2);
  boost::system::error_code failed;
  const json::value held = json::parse(row.get<std::string>(3), failed);
  if (!failed && held.is_array()) {
    for (const json::value& digest : held.get_array()) {
      if (digest.is_string()) one.held.emplace_back(digest.get_string());
    }
  }
  one.message = row.get<std::string>(4);
  one.seen_us = row.get<std::int64_t>(5);
  return one;
}

}  // namespace

Result<std::optional<Registration>> put_registration(Tx& tx, const Registration& one) {
  TRY_ASSIGN(const Rows rows, tx.query(kFind, one.id));
  std::optional<Registration> before;
  if (!rows.empty()) before = registration_of(rows[0]);
  const std::string held = json::serialize(json::array(one.held.begin(), one.held.end()));
  TRY(tx.exec(kPut, one.id, one.address, one.free_mb, held, one.message, one.seen_us));
  return before;
}

Result<std::vector<Registration>> list_registrations(Tx& tx) {
  TRY_ASSIGN(const Rows rows, tx.query(kList, kSearchersMax));
  std::vector<Registration> all;
  for (const Row row : rows) all.push_back(registration_of(row));
  return all;
}

Result<> remove_registration(Tx& tx, const std::string& id) {
  TRY(tx.exec(kRemove, id));
  return {};
}

}  // namespace quern::search
