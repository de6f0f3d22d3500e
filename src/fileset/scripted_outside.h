// For tests: an outside that answers from a script, by the exact URL, and remembers what it was
// asked. What it does not know is a 404. A URL with several answers gives them in turn, and stays
// with the last.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fileset/outside.h"

namespace quern::fileset {

inline std::string digest_hex(const EVP_MD* kind, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, kind, nullptr);
  constexpr char kHex[] = "0123456789abcdef";
  std::string hex;
  for (unsigned i = 0; i < size; ++i) {
    hex += kHex[digest[i] >> 4U];
    hex += kHex[digest[i] & 15U];
  }
  return hex;
}
inline std::string md5_hex(std::string_view bytes) {
  return digest_hex(EVP_md5(), bytes);
}
inline std::string sha1_hex(std::string_view bytes) {
  return digest_hex(EVP_sha1(), bytes);
}
inline std::string sha256_hex(std::string_view bytes) {
  return digest_hex(EVP_sha256(), bytes);
}

class ScriptedOutside : public Outside {
 public:
  // A further answer of this URL.
  void answer(const std::string& url, int status, std::string body, web::HeaderList headers = {}) {
    Answer answer;
    answer.status = status;
    answer.body = std::move(body);
    answer.headers = std::move(headers);
    answer.url = url;
    add(url, std::move(answer));
  }
  // No answer at all.
  void fail(const std::string& url, web::FetchProblem problem, std::string message) {
    Answer answer;
    answer.problem = problem;
    answer.message = std::move(message);
    answer.url = url;
    add(url, std::move(answer));
  }
  void add(const std::string& url, Answer answer) { answers_[url].push_back(std::move(answer)); }
  // What a file has, whatever its manifest says.
  void file(const std::string& url, std::string bytes) { files_[url] = std::move(bytes); }
  // What download() says instead.
  void file_fails(const std::string& url, Downloaded result) { failures_[url] = std::move(result); }

  const std::vector<Ask>& asked() const { return asked_; }
  const std::vector<DownloadOrder>& ordered() const { return ordered_; }
  std::vector<std::string> asked_urls() const {
    std::vector<std::string> urls;
    for (const Ask& ask : asked_) urls.push_back(ask.url);
    return urls;
  }

  net::Task<Answer> ask(Ask ask) override {
    asked_.push_back(ask);
    const auto found = answers_.find(ask.url);
    if (found == answers_.end()) {
      Answer missing;
      missing.status = 404;
      missing.url = ask.url;
      co_return missing;
    }
    std::vector<Answer>& script = found->second;
    Answer answer = script.front();
    if (script.size() > 1) script.erase(script.begin());
    co_return answer;
  }

  net::Task<Downloaded> download(DownloadOrder order) override {
    ordered_.push_back(order);
    if (const auto failure = failures_.find(order.url); failure != failures_.end()) {
      co_return failure->second;
    }
    Downloaded result;
    const auto found = files_.find(order.url);
    if (found == files_.end()) {
      result.status = "error-platform-download";
      result.message = "404";
      result.http_status = 404;
      co_return result;
    }
    co_return keep(order, found->second);
  }

 private:
  static Downloaded keep(const DownloadOrder& order, const std::string& bytes) {
    Downloaded result;
    result.size = static_cast<std::int64_t>(bytes.size());
    result.wire_bytes = result.size;
    result.md5 = md5_hex(bytes);
    result.sha1 = sha1_hex(bytes);
    result.sha256 = sha256_hex(bytes);
    result.terminal_url = order.url;
    result.http_status = 200;
    result.status = judge(order, result);
    if (result.status == "verified-local") {
      std::ofstream(order.part, std::ios::binary) << bytes;
    }
    return result;
  }

  static std::string judge(const DownloadOrder& order, const Downloaded& got) {
    const auto differs = [](const std::string& wanted, const std::string& has) {
      return !wanted.empty() && wanted != has;
    };
    if (order.bytes_max > 0 && got.size > order.bytes_max) return "too-large-size";
    if (order.size && *order.size != got.size) return "mismatch-size";
    if (differs(order.sha1, got.sha1)) return "mismatch-sha1";
    if (differs(order.sha256, got.sha256)) return "mismatch-sha256";
    if (differs(order.md5, got.md5)) return "mismatch-md5";
    return "verified-local";
  }

  std::map<std::string, std::vector<Answer>> answers_;
  std::map<std::string, std::string> files_;
  std::map<std::string, Downloaded> failures_;
  std::vector<Ask> asked_;
  std::vector<DownloadOrder> ordered_;
};

}  // namespace quern::fileset
