// Platforms: the first line is the address of a landing, the rest is the page, and what every
// interface answers. Whatever it is, there is a status with a name; a success has files whose paths
// differ, and nobody is asked who is not on the web.
#include <array>
#include <set>
#include <string_view>

#include "base/check.h"
#include "fileset/platform.h"
#include "net/loop.h"
#include "web/url.h"

namespace quern::fileset {
namespace {

constexpr int kAnswers = 4;  // then there is nothing more

class Repeating : public Outside {
 public:
  explicit Repeating(std::string body) : body_(std::move(body)) {}

  net::Task<Answer> ask(Ask ask) override {
    const auto url = web::Url::parse(ask.url);
    CHECK(url.ok() && url->is_web());
    Answer answer;
    answer.url = ask.url;
    answer.status = ++asked_ <= kAnswers ? 200 : 404;
    answer.body = body_;
    co_return answer;
  }
  net::Task<Downloaded> download(DownloadOrder) override { co_return Downloaded(); }

 private:
  std::string body_;
  int asked_ = 0;
};

void check_file(const ManifestFile& file) {
  CHECK(!file.path.empty());
  CHECK(file.size.value_or(0) >= 0);
  CHECK(file.md5.empty() || file.md5.size() == 32);
  CHECK(file.sha1.empty() || file.sha1.size() == 40);
  CHECK(file.sha256.empty() || file.sha256.size() == 64);
}

void check(const PlatformAnswer& answer) {
  static const std::set<std::string> kStatuses = {
      "success",          "platform-scope", "platform-restricted", "platform-404",
      "platform-error",   "empty-manifest", "platform-http-error", "too-many-files",
      "no-platform-match"};
  CHECK(kStatuses.contains(answer.status));
  CHECK(answer.status == "success" || !answer.message.empty());
  if (answer.status != "success") return;
  std::set<std::string> paths;
  for (const ManifestFile& file : answer.item.manifest) {
    check_file(file);
    CHECK(paths.insert(file.path).second);
  }
  CHECK(!paths.empty());
  CHECK(!answer.item.platform_id.empty());
  CHECK(answer.item.archiveorg_item_name.size() >= 3);
}

}  // namespace
}  // namespace quern::fileset

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace quern::fileset;
  static const auto kPlatforms = platforms({});
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string_view rest = text.substr(std::min(line + 1, text.size()));
  Landing landing;
  landing.base_url = text.substr(0, line);
  landing.terminal_url = landing.base_url;
  landing.mimetype = "text/html";
  landing.html = rest;
  for (const auto& platform : kPlatforms) {
    if (!platform->match(landing)) continue;
    Repeating outside{std::string(rest)};
    quern::net::Loop loop;
    check(loop.run_until(platform->process(landing, outside)));
  }
  return 0;
}
