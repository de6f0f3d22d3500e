#include "store/postgres_wire.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <bit>
#include <cstring>

namespace quern::store {
namespace {

// Type numbers are fixed by PostgreSQL's catalogue.
constexpr Oid kBool = 16;
constexpr Oid kBytea = 17;
constexpr Oid kName = 19;
constexpr Oid kInt8 = 20;
constexpr Oid kInt2 = 21;
constexpr Oid kInt4 = 23;
constexpr Oid kText = 25;
constexpr Oid kJson = 114;
constexpr Oid kFloat4 = 700;
constexpr Oid kFloat8 = 701;
constexpr Oid kVarchar = 1043;
constexpr Oid kBoolArray = 1000;
constexpr Oid kByteaArray = 1001;
constexpr Oid kTextArray = 1009;
constexpr Oid kInt8Array = 1016;
constexpr Oid kFloat8Array = 1022;

struct WireType {
  Oid one;
  Oid array;
};

WireType wire_type(Param::Type type) {
  switch (type) {
    case Param::Type::Bool:
      return {kBool, kBoolArray};
    case Param::Type::Int:
      return {kInt8, kInt8Array};
    case Param::Type::Real:
      return {kFloat8, kFloat8Array};
    case Param::Type::Text:
      return {kText, kTextArray};
    case Param::Type::Blob:
      return {kBytea, kByteaArray};
  }
  CHECK(false);
  return {};
}

template <class Unsigned>
void append_big_endian(std::string& out, Unsigned value) {
  for (int shift = static_cast<int>(sizeof value) * 8 - 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift));
  }
}

template <class Unsigned>
Unsigned read_big_endian(const char* data) {
  Unsigned value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) {
    value = static_cast<Unsigned>(value << 8 | static_cast<unsigned char>(data[i]));
  }
  return value;
}

void append_payload(std::string& out, const Param& param) {
  switch (param.type) {
    case Param::Type::Bool:
      out.push_back(param.integer != 0 ? 1 : 0);
      break;
    case Param::Type::Int:
      append_big_endian(out, static_cast<std::uint64_t>(param.integer));
      break;
    case Param::Type::Real:
      append_big_endian(out, std::bit_cast<std::uint64_t>(param.real));
      break;
    case Param::Type::Text:
    case Param::Type::Blob:
      out.append(param.bytes);
      break;
  }
}

bool is_bytes(Param::Type type) {
  return type == Param::Type::Text || type == Param::Type::Blob;
}

// Header: dimensions, whether nulls occur, element type, length, lower bound. Then each element.
void append_array(std::string& out, const Bulk& bulk, std::size_t column) {
  append_big_endian<std::uint32_t>(out, 1);
  append_big_endian<std::uint32_t>(out, 1);
  append_big_endian<std::uint32_t>(out, wire_type(bulk.at(0, column).type).one);
  append_big_endian<std::uint32_t>(out, static_cast<std::uint32_t>(bulk.rows()));
  append_big_endian<std::uint32_t>(out, 1);
  for (std::size_t row = 0; row < bulk.rows(); ++row) {
    const Param& param = bulk.at(row, column);
    CHECK(param.type == bulk.at(0, column).type);
    const std::size_t length_at = out.size();
    append_big_endian<std::uint32_t>(out, 0xFFFFFFFF);  // null
    if (param.null) continue;
    append_payload(out, param);
    std::string length;
    append_big_endian(length, static_cast<std::uint32_t>(out.size() - length_at - 4));
    out.replace(length_at, 4, length);
  }
}

Result<Cell> cell_of(const PGresult* result, int row, int column) {
  if (PQgetisnull(result, row, column) != 0) return Cell(std::monostate{});
  const char* data = PQgetvalue(result, row, column);
  switch (PQftype(result, column)) {
    case kBool:
      return Cell(std::int64_t{data[0] != 0});
    case kInt2:
      return Cell(std::int64_t{static_cast<std::int16_t>(read_big_endian<std::uint16_t>(data))});
    case kInt4:
      return Cell(std::int64_t{static_cast<std::int32_t>(read_big_endian<std::uint32_t>(data))});
    case kInt8:
      return Cell(static_cast<std::int64_t>(read_big_endian<std::uint64_t>(data)));
    case kFloat4:
      return Cell(double{std::bit_cast<float>(read_big_endian<std::uint32_t>(data))});
    case kFloat8:
      return Cell(std::bit_cast<double>(read_big_endian<std::uint64_t>(data)));
    case kText:
    case kVarchar:
    case kName:
    case kJson:
    case kBytea:
      return Cell(std::string(data, static_cast<std::size_t>(PQgetlength(result, row, column))));
    default:
      return Error{Errc::Internal,
                   fmt::format("column '{}' has type {}, which is not read; cast it",
                               PQfname(result, column), PQftype(result, column))};
  }
}

}  // namespace

WireParams::WireParams(std::span<const Param> params) {
  for (const Param& param : params) {
    const Oid type = wire_type(param.type).one;
    if (param.null) {
      add(type, nullptr, 0);
    } else if (is_bytes(param.type)) {
      add(type, param.bytes.empty() ? "" : param.bytes.data(),
          static_cast<int>(param.bytes.size()));
    } else {
      const std::size_t begin = arena_.size();
      append_payload(arena_, param);
      arena_values_.emplace_back(count(), begin);
      add(type, nullptr, static_cast<int>(arena_.size() - begin));
    }
  }
  finish();
}

WireParams::WireParams(const Bulk& bulk) {
  for (std::size_t column = 0; column < bulk.width(); ++column) {
    const std::size_t begin = arena_.size();
    append_array(arena_, bulk, column);
    arena_values_.emplace_back(count(), begin);
    add(wire_type(bulk.at(0, column).type).array, nullptr, static_cast<int>(arena_.size() - begin));
  }
  finish();
}

void WireParams::add(Oid type, const char* data, int length) {
  types_.push_back(type);
  values_.push_back(data);
  lengths_.push_back(length);
  formats_.push_back(1);
}

// The arena may move while it grows, so its addresses are taken last.
void WireParams::finish() {
  for (const auto& [parameter, begin] : arena_values_) {
    values_[static_cast<std::size_t>(parameter)] = arena_.data() + begin;
  }
}

Result<> append_rows(const PGresult* result, Rows& rows) {
  const int width = PQnfields(result);
  const int count = PQntuples(result);
  if (count == 0) return {};
  CHECK(static_cast<std::size_t>(count) <= kRowsMax);
  rows.set_width(static_cast<std::size_t>(width));
  for (int row = 0; row < count; ++row) {
    for (int column = 0; column < width; ++column) {
      TRY_ASSIGN(Cell cell, cell_of(result, row, column));
      rows.add(std::move(cell));
    }
  }
  return {};
}

}  // namespace quern::store
