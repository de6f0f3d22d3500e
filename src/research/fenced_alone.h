// FencedAlone: a closure behind the fence of a partition that has a transaction of its own. For
// writes that lock the pool's row: what a batch has locked before would be held over the wait for
// it.
#pragma once

#include <utility>

#include "store/operation.h"

namespace quern::research {

template <class Function>
struct FencedAlone {
  store::Fence at;
  Function function;

  static constexpr bool kAlone = true;
  store::Fence fence() const { return at; }
  auto operator()(store::Tx& tx) { return function(tx); }
};
template <class Function>
FencedAlone(store::Fence, Function) -> FencedAlone<Function>;

}  // namespace quern::research
