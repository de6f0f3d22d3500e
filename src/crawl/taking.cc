#include "crawl/taking.h"

#include <boost/json.hpp>

#include "blob/digest.h"

namespace quern::crawl {
namespace {

namespace json = boost::json;
using Do = FetchPlan::Do;

// Names of root files are addresses without their scheme: "site.gov/a/b?c".
std::string filename_of(const std::string& url) {
  return url.substr(url.find("://") + 3);
}

std::string header_of(const web::Fetched& fetched, std::string_view name,
                      std::size_t bytes_max = 512) {
  return std::string(web::find_header(fetched.headers, name).substr(0, bytes_max));
}

Result<std::string> digest_of(const web::Body& body) {
  blob::Digest digest(blob::Digest::Kind::Sha256);
  TRY(body.read([&digest](std::string_view bytes) -> Result<> {
    digest.add(bytes);
    return {};
  }));
  return digest.finish();
}

web::CaptureOrder capture_order(const std::string& url, const web::Fetched& fetched) {
  web::CaptureOrder order;
  order.url = url;
  order.at_us = fetched.began_us;
  order.address = fetched.address;
  order.request_head = fetched.request_head;
  order.response_head = web::archived_head(fetched);
  return order;
}

Result<NewCapture> append(const web::CaptureOrder& order, int status, std::string type,
                          web::Archive& archive) {
  TRY_ASSIGN(const web::Url url, web::Url::parse(order.url));
  TRY_ASSIGN(const web::ArchiveEntry entry, archive.append(order));
  NewCapture capture;
  capture.url = order.url;
  capture.surt = web::surt(url);
  capture.at_us = order.at_us;
  capture.status = status;
  capture.type = std::move(type);
  capture.digest = entry.payload_digest;
  capture.revisit = order.revisit.has_value();
  capture.warc = entry.filename;
  capture.warc_at = entry.offset;
  capture.warc_bytes = entry.length;
  capture.warc_end = entry.end;
  return capture;
}

Result<NewCapture> append(const web::CaptureOrder& order, const web::Fetched& fetched,
                          web::Archive& archive) {
  return append(order, fetched.status,
                plain_type(web::find_header(fetched.headers, "Content-Type")), archive);
}

// What the head of an answer says of its links; empty: nothing.
std::string links_of(const RobotsTags& tags) {
  if (!tags.noindex && !tags.nofollow) return {};
  json::array robots;
  if (tags.noindex) robots.emplace_back("noindex");
  if (tags.nofollow) robots.emplace_back("nofollow");
  const json::object links{{"kind", "head"}, {"robots", robots}, {"links", json::array()}};
  return json::serialize(links);
}

std::string redirect_link(const std::string& target) {
  const json::object link{{"href", target}};
  const json::object links{{"kind", "redirect"}, {"links", json::array{link}}};
  return json::serialize(links);
}

tree::AddRoot root_of(const TakeOrder& order, const FetchPlan& plan, const web::Fetched& fetched,
                      blob::Put put, const Decide& decide) {
  tree::AddRoot root;
  root.job = order.job;
  root.collection = order.page.collection;
  root.shard = order.shard;
  tree::NewFile& file = root.file;
  file.filename = filename_of(order.page.url);
  file.content_type = plan.type.empty() ? "text/html" : plan.type;
  file.bytes = put.bytes;
  file.blob = std::move(put);
  const json::object own{{"url", order.page.url}};
  json::object metadata{{"url", order.page.url},
                        {"content_type", header_of(fetched, "Content-Type")}};
  const bool list = order.page.source == "sitemap" || order.page.source == "feed";
  if (list) metadata["source"] = order.page.source;  // Page reads it in another way
  file.metadata = json::serialize(metadata);
  const json::object options{
      {"ocr", false}, {"split_by_page", false}, {"language", "en"}, {"metadata", own}};
  file.options = json::serialize(options);
  if (plan.page_step) {
    file.step = model::to_string(model::StepId::Page);
    return root;
  }
  TypeDecision decision = decide(file.content_type);
  file.step = std::move(decision.step);
  file.failure = std::move(decision.failure);
  return root;
}

}  // namespace

Result<Taken> take_in(const TakeOrder& order, const web::Fetched& fetched, web::Archive& archive,
                      blob::BlobStore& blobs) {
  Taken taken;
  const bool success = fetched.status >= 200 && fetched.status < 300;
  if (success) {
    TRY_ASSIGN(taken.digest, digest_of(fetched.body));
    taken.same = order.page.file && order.before && taken.digest == order.page.digest;
  }
  web::CaptureOrder capture = capture_order(order.page.url, fetched);
  const bool not_modified = fetched.status == 304 && order.before;
  if (!order.from_archive && (taken.same || not_modified)) {
    const NewCapture& before = *order.before;
    capture.revisit = {before.url, before.at_us, before.digest, not_modified};
  } else {
    capture.body = fetched.raw;
  }
  if (!order.captured) {
    TRY_ASSIGN(taken.capture, append(capture, fetched, archive));
  }
  if (plan_fetch(order.page, fetched, taken.same, order.tries).what != Do::Root) return taken;
  blob::Spool spool(blobs);
  TRY(fetched.body.read([&spool](std::string_view bytes) { return spool.write(bytes); }));
  TRY_ASSIGN(taken.put, spool.finish());
  return taken;
}

Result<NewCapture> archive_answer(const std::string& url, const web::Fetched& fetched,
                                  web::Archive& archive) {
  web::CaptureOrder order = capture_order(url, fetched);
  order.body = fetched.raw;
  return append(order, fetched, archive);
}

Result<NewCapture> archive_revisit(const web::CaptureOrder& order, int status,
                                   const std::string& type, web::Archive& archive) {
  return append(order, status, type, archive);
}

FetchRecord record_of(const TakeOrder& order, const web::Fetched& fetched,
                      std::optional<Taken> taken, const Decide& decide) {
  const bool same = taken && taken->same;
  const FetchPlan plan = plan_fetch(order.page, fetched, same, order.tries);
  FetchRecord record;
  record.page = order.page;
  record.status = fetched.status;
  record.unchanged = plan.what == Do::Same;
  record.why = plan.why;
  record.why_kind = plan.why_kind;
  record.failed = plan.failed;
  record.gone = plan.gone;
  record.type = plan.type;
  record.bytes = fetched.raw.size();
  record.period_us = order.period_us;
  record.etag = header_of(fetched, "ETag");
  record.last_modified = header_of(fetched, "Last-Modified", 100);
  if (record.unchanged && record.etag.empty()) record.etag = order.page.etag;
  if (record.unchanged && record.last_modified.empty()) {
    record.last_modified = order.page.last_modified;
  }
  if (plan.what == Do::Hop) record.links = redirect_link(plan.target);
  if (!taken) return record;
  record.digest = std::move(taken->digest);
  record.capture = std::move(taken->capture);
  record.captured = order.captured;
  if (plan.what != Do::Root) return record;
  record.links = links_of(robots_tags(fetched.headers));
  record.root = root_of(order, plan, fetched, *std::move(taken->put), decide);
  return record;
}

}  // namespace quern::crawl
