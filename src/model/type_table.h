// The table of types: which step takes which, and under which other names they go. Data of
// steps.cc.
//
// A canonical name is the registered one where there is one. Sources: the table of the worker
// protocol, the aliases of the freedesktop database, and names that clients were seen to use.
#pragma once

#include <span>
#include <string_view>

#include "model/steps.h"

namespace quern::model {

struct TypesOfStep {
  StepId step;
  std::string_view types;  // canonical, separated by blanks
};
std::span<const TypesOfStep> types_of_steps();

struct AliasesOfType {
  std::string_view type;     // canonical
  std::string_view aliases;  // separated by blanks
};
std::span<const AliasesOfType> aliases_of_types();

}  // namespace quern::model
