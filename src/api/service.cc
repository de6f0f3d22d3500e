#include "api/service.h"

namespace quern::api {
namespace {

net::Task<Result<>> send_text(net::Exchange& exchange, std::shared_ptr<const std::string> json) {
  co_return co_await exchange.respond(net::json_response(200, *json));
}

}  // namespace

std::shared_ptr<const Router> make_router(std::shared_ptr<const Parts> parts, HostRule rule) {
  auto router = std::make_shared<Router>(rule);
  add_health_routes(*router, parts);
  add_counter_routes(*router, parts);
  add_check_routes(*router, parts);
  add_partition_routes(*router, parts);
  add_item_routes(*router, parts);
  add_queue_routes(*router, parts);
  add_limit_routes(*router, parts);
  add_job_routes(*router, parts);
  add_adding_routes(*router, parts);
  add_step_routes(*router, parts);
  add_upload_routes(*router, parts);
  add_file_routes(*router, parts);
  add_explain_routes(*router, parts);
  add_collection_routes(*router, parts);
  add_retry_routes(*router, parts);
  add_event_routes(*router, parts);
  add_search_routes(*router, parts);
  // Filled once every route is known, its own included.
  auto description = std::make_shared<std::string>();
  router->add({net::Method::Get, "/api/v1/openapi.json", "This description.",
               [description](Call call) { return send_text(call.exchange, description); }});
  *description = router->openapi();
  return router;
}

}  // namespace quern::api
