// For tests: an outside that reaches one server on this machine, plainly: no redirects, no retries,
// bodies in memory.
#pragma once

#include <fmt/format.h>

#include <fstream>
#include <string>

#include "fileset/file_meta.h"
#include "fileset/outside.h"
#include "io/file.h"
#include "net/client.h"
#include "web/body.h"

namespace quern::fileset {

class SiteOutside : public Outside {
 public:
  // `origin`: "http://127.0.0.1:1234".
  SiteOutside(net::Loop& loop, std::string origin)
      : origin_(std::move(origin)),
        client_(loop, net::Endpoint::parse(origin_.substr(7)).value(), {}) {}

  net::Task<Answer> ask(Ask ask) override {
    Answer answer;
    answer.url = ask.url;
    if (!ask.url.starts_with(origin_)) {
      answer.problem = web::FetchProblem::Name;
      answer.message = "no such host";
      co_return answer;
    }
    net::Request request;
    request.method = net::method_of(ask.method);
    request.target = ask.url.substr(origin_.size());
    for (const auto& [name, value] : ask.headers) request.headers.add(name, value);
    request.body = ask.file.empty() ? ask.body : io::read_file(ask.file, 1UL << 30).value();
    Result<net::Response> response = co_await client_.fetch(std::move(request), 1UL << 30);
    if (!response.ok()) {
      answer.problem = web::FetchProblem::Connect;
      answer.message = response.error().message();
      co_return answer;
    }
    answer.status = response->status;
    for (const net::Header& header : response->headers) {
      answer.headers.emplace_back(header.name, header.value);
    }
    answer.body = response->body;
    co_return answer;
  }

  net::Task<Downloaded> download(DownloadOrder order) override {
    Ask whole;
    whole.url = order.url;
    const Answer answer = co_await ask(std::move(whole));
    Downloaded got;
    got.terminal_url = order.url;
    got.http_status = answer.status;
    got.headers = answer.headers;
    got.status = answer.status == 200 ? "verified-local" : "error-platform-download";
    got.message = answer.message;
    const FileMeta meta = file_meta_of(answer.body);
    got.size = meta.size;
    got.md5 = meta.md5;
    got.sha1 = meta.sha1;
    got.sha256 = meta.sha256;
    if (answer.status == 200) std::ofstream(order.part, std::ios::binary) << answer.body;
    co_return got;
  }

 private:
  std::string origin_;
  net::Client client_;
};

}  // namespace quern::fileset
