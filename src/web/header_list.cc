#include <strings.h>

#include "web/fetcher.h"

namespace quern::web {

std::string_view find_header(const HeaderList& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (key.size() == name.size() && ::strncasecmp(key.data(), name.data(), name.size()) == 0) {
      return value;
    }
  }
  return {};
}

}  // namespace quern::web
