// quern_platform_site [--listen ADDRESS:PORT]
//
// A stand-in of the sites and interfaces that datasets come from (hosts.h lists them), with
// datasets that are made up, and faults (dataset.h). It prints "listening ADDRESS:PORT" and runs
// until killed. "https://HOST/x" is "http://ADDRESS:PORT/HOST/x" here; files are at a second port,
// which it moves its clients to.
//
//   GET /__bases      what QUERN_PLATFORM_BASES is to be
//   GET /__log        what was asked for: JSON lines with host, target and status
//   GET /__files      what was asked of the server of the files: path, offset, status, bytes sent
//   GET /__datasets   what the datasets are: JSON with name, number, files (path, size, digests)
#include <fmt/format.h>

#include <boost/json.hpp>
#include <map>

#include "base/check.h"
#include "net/loop.h"
#include "net/server.h"
#include "support/platform_site/hosts.h"

namespace quern::platform_site {
namespace {

namespace json = boost::json;

class Site {
 public:
  Site() {
    for (const PlayedHost& played : played_hosts()) {
      for (const Dataset& dataset : shelf_.all()) put_files(played.host, dataset);
    }
  }

  void set_place(std::string place) { place_ = std::move(place); }
  net::Task<Result<>> handle(net::Exchange& exchange);

 private:
  void put_files(std::string_view host, const Dataset& dataset);
  std::string control(std::string_view what) const;
  std::string datasets_json() const;
  Reply reply(const net::RequestHead& head);
  void apply_fault(const Request& request, Reply& reply);

  Shelf shelf_;
  support::FaultyFiles files_;
  std::string place_;
  std::string log_;
  std::map<std::string, int> tries_;
};

void Site::put_files(std::string_view host, const Dataset& dataset) {
  for (std::size_t i = 0; i < dataset.files.size(); ++i) {
    support::FaultyFile file;
    file.size = dataset.files[i].size;
    file.seed = dataset.files[i].seed;
    file.content_type = dataset.files[i].mimetype;
    const std::string path = file_path(host, dataset, i);
    files_.put(path, file);
    if (i > 0) continue;
    for (const support::Fault& fault : dataset.faults) files_.add_fault(path, fault);
  }
}

std::string Site::datasets_json() const {
  json::array all;
  for (const Dataset& dataset : shelf_.all()) {
    json::array files;
    for (const DataFile& file : dataset.files) {
      files.push_back({{"path", file.path},
                       {"size", file.size},
                       {"md5", file.md5},
                       {"sha1", file.sha1},
                       {"sha256", file.sha256}});
    }
    all.push_back(
        {{"name", dataset.name}, {"number", dataset.number}, {"files", std::move(files)}});
  }
  return json::serialize(all);
}

std::string Site::control(std::string_view what) const {
  std::string text;
  if (what == "/__log") return log_;
  if (what == "/__datasets") return datasets_json();
  if (what == "/__bases") {
    for (const PlayedHost& played : played_hosts()) {
      if (!text.empty()) text += ',';
      text += fmt::format("https://{0}=http://{1}/{0}", played.host, place_);
    }
  }
  if (what != "/__files") return text;
  for (const support::FaultyRequest& request : files_.requests()) {
    const json::object line = {{"path", request.path},
                               {"status", request.status},
                               {"offset", request.offset},
                               {"sent", request.sent}};
    text += json::serialize(line) + "\n";
  }
  return text;
}

void Site::apply_fault(const Request& request, Reply& reply) {
  if (reply.dataset == nullptr) return;
  const bool first = tries_[request.host + request.target]++ == 0;
  const ApiFault fault = reply.dataset->api;
  if (fault == ApiFault::TooMany && first) reply = failed(429);
  if (fault == ApiFault::Unavailable && first) reply = failed(503);
  if (fault == ApiFault::Gone) reply = failed(410);
  if (fault == ApiFault::CutJson) reply.body.resize(reply.body.size() / 2);
}

Reply Site::reply(const net::RequestHead& head) {
  Request request;
  const std::string& target = head.target;
  const std::size_t slash = target.find('/', 1);
  request.host = target.substr(1, slash == std::string::npos ? slash : slash - 1);
  request.target = slash == std::string::npos ? "/" : target.substr(slash);
  auto parts = net::parse_target(request.target);
  if (!parts) return failed(400);
  request.parts = *std::move(parts);
  Reply reply = failed(404);
  for (const PlayedHost& played : played_hosts()) {
    if (played.host != request.host) continue;
    if (auto answer = played.answer(request, shelf_)) reply = *std::move(answer);
  }
  apply_fault(request, reply);
  if (reply.location.starts_with('/')) reply.location = files_.url(reply.location);
  const json::object line = {
      {"host", request.host}, {"target", request.target}, {"status", reply.status}};
  log_ += json::serialize(line) + "\n";
  return reply;
}

net::Task<Result<>> Site::handle(net::Exchange& exchange) {
  const std::string& target = exchange.request().target;
  if (target.starts_with("/__")) {
    net::Response controlled = net::text_response(200, control(target));
    co_return co_await exchange.respond(std::move(controlled));
  }
  const Reply answer = reply(exchange.request());
  net::Response response;
  response.status = answer.status;
  response.body = answer.body;
  response.headers.set("Content-Type", answer.content_type);
  if (!answer.location.empty()) response.headers.set("Location", answer.location);
  if (answer.status == 429 || answer.status == 503) response.headers.set("Retry-After", "1");
  co_return co_await exchange.respond(std::move(response));
}

int serve(const std::string& listen) {
  net::Loop loop;
  Site site;
  net::ServerOptions options;
  options.listen = {*net::Endpoint::parse(listen)};
  auto server = net::Server::open(loop, options,
                                  [&](net::Exchange& exchange) { return site.handle(exchange); });
  if (!server) {
    fmt::print(stderr, "{}\n", server.error().message());
    return 3;
  }
  site.set_place(server->endpoints()[0].to_string());
  fmt::print("listening {}\n", server->endpoints()[0].to_string());
  std::fflush(stdout);
  loop.run();
  return 0;
}

}  // namespace
}  // namespace quern::platform_site

int main(int argc, char** argv) {
  std::string listen = "127.0.0.1:0";
  for (int i = 1; i + 1 < argc; i += 2) {
    CHECK(std::string(argv[i]) == "--listen");
    listen = argv[i + 1];
  }
  return quern::platform_site::serve(listen);
}
