#include <libpsl.h>

#include "web/url.h"
#include "web/url_host.h"

namespace quern::web {

std::string registered_domain(const std::string& host) {
  if (is_address(host)) return host;
  const std::string name = host.ends_with('.') ? host.substr(0, host.size() - 1) : host;
  const psl_ctx_t* list = psl_builtin();  // for ever; nobody frees it
  const char* domain = list ? psl_registrable_domain(list, name.c_str()) : nullptr;
  return domain ? std::string(domain) : name;
}

}  // namespace quern::web
