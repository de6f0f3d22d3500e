// Tx: a transaction, as durable code sees it. The code is plain and synchronous; whoever made the
// Tx commits or rolls back. It is valid only during the call that received it.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/guard.h"
#include "store/session.h"

namespace quern::store {

class Tx {
 public:
  explicit Tx(Session& session) : session_(session) {}
  Tx(const Tx&) = delete;
  Tx& operator=(const Tx&) = delete;

  StoreKind store() const { return session_.kind(); }

  template <class... Args>
  Result<Rows> query(const Sql& sql, const Args&... args) {
    const std::array<Param, sizeof...(Args)> params{Param(args)...};
    return noted(session_.run(sql, params));
  }
  // Rows inserted, updated or deleted.
  template <class... Args>
  Result<std::int64_t> exec(const Sql& sql, const Args&... args) {
    TRY_ASSIGN(const Rows rows, query(sql, args...));
    return rows.changed();
  }
  // The first column of the only row. More than one row is our bug.
  template <class T, class... Args>
  Result<std::optional<T>> find_value(const Sql& sql, const Args&... args) {
    TRY_ASSIGN(const Rows rows, query(sql, args...));
    CHECK(rows.size() <= 1);
    if (rows.empty()) return std::optional<T>();
    return std::optional<T>(rows[0].template get<T>(0));
  }
  template <class T, class... Args>
  Result<T> value(const Sql& sql, const Args&... args) {
    TRY_ASSIGN(std::optional<T> found, find_value<T>(sql, args...));
    if (!found) return Error{Errc::Missing, "no such row"};
    return *std::move(found);
  }
  Result<Rows> bulk(const Sql& sql, const Bulk& rows) {
    if (rows.rows() == 0) return Rows();
    return noted(session_.run_bulk(sql, rows));
  }

  Result<std::int64_t> now_us() { return session_.now_us(); }

  // What the batch's guard locked; null where no operation has a fence.
  LockedRows* locked() const { return locked_.get(); }
  void set_locked(std::unique_ptr<LockedRows> locked) { locked_ = std::move(locked); }

  // What was written since must be undone, though no statement failed.
  void spoil() { sql_failed_ = true; }

  // For the writer: what happened since the last reset.
  bool sql_failed() const { return sql_failed_; }
  bool wrote() const { return wrote_; }
  void reset_notes() { sql_failed_ = wrote_ = false; }

 private:
  Result<Rows> noted(Result<Rows> result) {
    if (!result.ok()) sql_failed_ = true;
    if (!result.ok() || result->wrote()) wrote_ = true;
    return result;
  }

  Session& session_;
  std::unique_ptr<LockedRows> locked_;
  bool sql_failed_ = false;
  bool wrote_ = false;
};

}  // namespace quern::store
