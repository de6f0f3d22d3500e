#include "research/release.h"

namespace quern::research {
namespace {

using store::Sql;

constexpr Sql kReleaseOne{"DELETE FROM research_lease WHERE researcher = $1"};
constexpr Sql kForgetOne{"DELETE FROM research_researcher WHERE name = $1"};
constexpr Sql kReleaseAll{
    "DELETE FROM research_lease WHERE substr(researcher, 1, length($1)) = $1"};
constexpr Sql kForgetAll{"DELETE FROM research_researcher WHERE substr(name, 1, length($1)) = $1"};

Result<std::int64_t> release(store::Tx& tx, const Sql& leases, const Sql& names,
                             const std::string& whose) {
  TRY_ASSIGN(const auto released, tx.exec(leases, whose));
  TRY(tx.exec(names, whose));
  return static_cast<std::int64_t>(released);
}

}  // namespace

Result<std::int64_t> release_leases_of(store::Tx& tx, const std::string& researcher) {
  return release(tx, kReleaseOne, kForgetOne, researcher);
}

Result<std::int64_t> release_leases(store::Tx& tx, const std::string& name_begins) {
  return release(tx, kReleaseAll, kForgetAll, name_begins);
}

}  // namespace quern::research
