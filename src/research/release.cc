#include "research/release.h"

namespace quern::research {
namespace {

using store::Sql;

constexpr Sql kRelease{"DELETE FROM research_lease WHERE substr(researcher, 1, length($1)) = $1"};
constexpr Sql kForget{"DELETE FROM research_researcher WHERE substr(name, 1, length($1)) = $1"};

}  // namespace

Result<std::int64_t> release_leases(store::Tx& tx, const std::string& name_begins) {
  TRY_ASSIGN(const auto released, tx.exec(kRelease, name_begins));
  TRY(tx.exec(kForget, name_begins));
  return static_cast<std::int64_t>(released);
}

}  // namespace quern::research
