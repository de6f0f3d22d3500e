#include "api/service.h"

#include "api/await.h"
#include "api/fileset_bytes.h"
#include "api/job_json.h"
#include "tree/file.h"
#include "tree/upload.h"

namespace quern::api {
namespace {

net::Task<Result<>> send_text(net::Exchange& exchange, std::shared_ptr<const std::string> json) {
  co_return co_await exchange.respond(net::json_response(200, *json));
}

net::Task<Result<std::optional<access::Token>>> find_token(std::shared_ptr<const Parts> parts,
                                                           std::string digest) {
  auto find = [digest](store::Tx& tx) { return access::find_good(tx, digest); };
  co_return co_await read(parts->loop, parts->readers, std::move(find));
}

Result<tree::JobId> job_of(store::Tx& tx, About what, const std::string& name) {
  if (what == About::Job) return parse_id<tree::JobId>("job", name);
  if (what == About::File) {
    TRY_ASSIGN(const tree::FileId id, parse_id<tree::FileId>("file", name));
    TRY_ASSIGN(const tree::File file, tree::load_file(tx, id));
    return file.job;
  }
  TRY_ASSIGN(const tree::Upload upload, tree::load_upload(tx, name));
  return upload.job;
}

net::Task<Result<std::string>> find_owner(std::shared_ptr<const Parts> parts, About what,
                                          std::string name) {
  auto find = [what, name](store::Tx& tx) -> Result<std::string> {
    TRY_ASSIGN(const tree::JobId id, job_of(tx, what, name));
    TRY_ASSIGN(const tree::Job job, tree::load_job(tx, id));
    return job.collection_name;
  };
  co_return co_await read(parts->loop, parts->readers, std::move(find));
}

}  // namespace

std::shared_ptr<const Router> make_router(std::shared_ptr<const Parts> parts, HostRule rule) {
  const auto access = std::make_shared<Access>(
      rule, [parts](std::string digest) { return find_token(parts, std::move(digest)); });
  const auto owner = [parts](About what, std::string name) {
    return find_owner(parts, what, std::move(name));
  };
  auto router = std::make_shared<Router>(access, Scope(owner));
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
  add_list_routes(*router, parts);
  add_error_group_routes(*router, parts);
  add_match_routes(*router, parts);
  add_work_routes(*router, parts);
  add_gate_routes(*router, parts);
  add_explain_routes(*router, parts);
  add_collection_routes(*router, parts);
  add_retry_routes(*router, parts);
  add_event_routes(*router, parts);
  add_search_routes(*router, parts);
  add_crawl_routes(*router, parts);
  add_fileset_routes(*router, parts);
  add_fileset_bytes_route(*router, parts);
  add_episode_routes(*router, parts);
  add_research_routes(*router, parts);
  add_finding_routes(*router, parts);
  add_capture_routes(*router, parts);
  add_token_routes(*router, parts, access);
  add_session_routes(*router, access);
  add_ui_routes(*router);
  // Filled once every route is known, its own included.
  auto description = std::make_shared<std::string>();
  router->add({net::Method::Get, "/api/v1/openapi.json", "This description.",
               [description](Call call) { return send_text(call.exchange, description); }});
  *description = router->openapi();
  return router;
}

}  // namespace quern::api
