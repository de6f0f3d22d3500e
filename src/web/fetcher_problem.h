// What a failed transfer means. Inside the fetcher.
#pragma once

#include <string>

#include "web/fetcher.h"

namespace quern::web {

// Of a CURLcode, where nothing better is known.
FetchProblem problem_of_curl(int code);
FetchProblem problem_of_error(const Error& error);

}  // namespace quern::web
