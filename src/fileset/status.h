// The statuses of requests and of files, and what may be done about each.
#pragma once

#include <string_view>

namespace quern::fileset {

// Passing: worth asking again by itself, soon. Later: worth asking again in weeks, or when somebody
// asks. Never: the same request will say the same. Hit: there is nothing to retry.
enum class RetryClass { Hit, Passing, Later, Never };
std::string_view to_string(RetryClass retry);
// Of any status of docs/datasets.md; "spn2-error:…" by its rest. What is unknown is Later.
RetryClass retry_class(std::string_view status);
bool is_hit(std::string_view status);
// Whether a file that ended so left bytes that a retry goes on with.
bool leaves_part(std::string_view file_status);

}  // namespace quern::fileset
