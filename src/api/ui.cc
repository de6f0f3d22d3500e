// The web UI: one page and what it loads, at the addresses that it shows.
//
// Guarantee: the page runs no script but ours and asks no other host (its Content-Security-Policy
// says so to the browser), and nothing that people have added is ever served as a page: whatever
// else this server answers is sandboxed by the router.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "api/request.h"
#include "api/router.h"
#include "api/service.h"
#include "api/web_assets.h"

namespace quern::api {
namespace {

// pdf.js draws in a worker of ours, on canvases, with fonts from memory, and decodes JPEG 2000 with
// WebAssembly; it never needs eval. Frames show captures, which have a stricter policy of their
// own.
constexpr char kPagePolicy[] =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src "
    "'self'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; media-src 'self'; "
    "frame-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
constexpr char kIndex[] = "/index.html";
constexpr std::string_view kNamedByContent = "/assets/";
constexpr std::string_view kOfPdf = "/pdf/";

// The addresses of the pages; web/src/app.tsx has the same list. Others are 404, as they should be.
constexpr const char* kPages[] = {
    "/",
    "/search",
    "/collections",
    "/collections/{collection}",
    "/jobs",
    "/jobs/{job}",
    "/jobs/{job}/files",
    "/crawls",
    "/crawls/{job}",
    "/captures-of",
    "/datasets",
    "/datasets/{job}",
    "/episodes",
    "/episodes/{episode}",
    "/clips",
    "/clips/{clip}",
    "/research",
    "/documents/{document}",
    "/files/{file}",
    "/errors",
    "/work",
    "/partitions/{partition}",
    "/workers",
    "/login",
};

const WebAsset* find_asset(std::string_view path) {
  const std::span<const WebAsset> all = web_assets();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [path](const WebAsset& one) { return one.path == path; });
  return found == all.end() ? nullptr : &*found;
}

net::Response answer_of(const WebAsset& asset, const net::Headers& request) {
  net::Response answer = net::empty_response(200);
  answer.headers.set("Content-Type", asset.type);
  answer.headers.set("ETag", asset.etag);
  answer.headers.set("Vary", "Accept-Encoding");
  const bool named = asset.path.starts_with(kNamedByContent);
  answer.headers.set("Cache-Control", named ? "public, max-age=31536000, immutable" : "no-cache");
  // A worker obeys the policy of its own script.
  answer.headers.set("Content-Security-Policy", kPagePolicy);
  if (request.has_token("If-None-Match", asset.etag)) {
    answer.status = 304;
    return answer;
  }
  const bool compressed = !asset.gzip.empty() && request.has_token("Accept-Encoding", "gzip");
  if (compressed) answer.headers.set("Content-Encoding", "gzip");
  answer.body = compressed ? asset.gzip : asset.bytes;
  return answer;
}

net::Task<Result<>> serve(Call call, std::string path) {
  const WebAsset* asset = find_asset(path);
  if (asset == nullptr) co_return Error{Errc::Missing, "there is nothing at this address"};
  net::Response answer = answer_of(*asset, call.exchange.request().headers);
  co_return co_await call.exchange.respond(std::move(answer));
}

// What people see where there is nothing: the page says so. Programs get a problem document.
net::Task<Result<>> serve_missing(Call call) {
  net::Response answer = answer_of(*find_asset(kIndex), net::Headers{});
  answer.status = 404;
  co_return co_await call.exchange.respond(std::move(answer));
}

net::Task<Result<>> serve_page(Call call) {
  co_return co_await serve(std::move(call), kIndex);
}

net::Task<Result<>> serve_named(Call call) {
  std::string path = std::string(kNamedByContent) + call.values[0];
  co_return co_await serve(std::move(call), std::move(path));
}

// Parts of fonts that pdf.js asks for by their names.
net::Task<Result<>> serve_of_pdf(Call call) {
  std::string path = fmt::format("{}{}/{}", kOfPdf, call.values[0], call.values[1]);
  co_return co_await serve(std::move(call), std::move(path));
}

}  // namespace

void add_ui_routes(Router& router) {
  using net::Method;
  router.set_missing_page(serve_missing);
  // Without a summary they stay out of the description, which is for programs.
  for (const char* page : kPages) router.add({Method::Get, page, "", serve_page, Needs::Nobody});
  router.add(
      {Method::Get, std::string(kNamedByContent) + "{name}", "", serve_named, Needs::Nobody});
  router.add({Method::Get, std::string(kOfPdf) + "{kind}/{name}", "", serve_of_pdf, Needs::Nobody});
  for (const WebAsset& asset : web_assets()) {
    const bool by_pattern =
        asset.path.starts_with(kNamedByContent) || asset.path.starts_with(kOfPdf);
    if (by_pattern || asset.path == kIndex) continue;
    const std::string path(asset.path);
    const auto send = [path](Call call) { return serve(std::move(call), path); };
    router.add({Method::Get, path, "", send, Needs::Nobody});
  }
}

}  // namespace quern::api
