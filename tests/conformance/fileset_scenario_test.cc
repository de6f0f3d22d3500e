// Recorded scenarios: what the original answered to made-up inputs, in strict mode. Only the corpus
// has them. Types of bytes were guessed by another tool there, so they are not compared.
#include <gmock/gmock.h>

#include <fstream>

#include "base/base64.h"
#include "conformance/fileset_fixture.h"
#include "support/corpus.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

std::string text(const json::object& object, const char* key) {
  const json::value* value = object.if_contains(key);
  return value == nullptr || !value->is_string() ? "" : std::string(value->get_string());
}

std::string bytes_of(const json::value& base64) {
  const auto bytes = base64_decoded(std::string(base64.as_string()));
  CHECK(bytes.has_value());
  return *bytes;
}

json::value without_types(json::value value) {
  if (json::array* list = value.if_array()) {
    for (json::value& one : *list) one = without_types(std::move(one));
  } else if (json::object* object = value.if_object()) {
    object->erase("mimetype");
    for (auto& member : *object) member.value() = without_types(std::move(member.value()));
  }
  return value;
}

// Captures of a scenario; what is not captured is asked of Save Page Now.
class ScenarioWeb : public WebArchive {
 public:
  explicit ScenarioWeb(const json::object& input)
      : captures_(input.at("web_captures").as_object()),
        spn_(input.at("try_spn2").as_bool()),
        spn_status_(text(input, "spn_result_status")) {}
  int spn_calls = 0;

  net::Task<Resource> find_page(const std::string& url, bool) override {
    Resource page;
    page.capture.terminal_url = url;
    page.status = "no-capture";
    const json::value* known = captures_.if_contains(url);
    if (known != nullptr) {
      const json::object& capture = known->as_object();
      page.status = "success";
      page.capture = capture_of(capture);
      page.body = bytes_of(capture.at("body_b64"));
      finish_page(page, text(capture, "cdx_mimetype"));
    } else if (spn_) {
      ++spn_calls;
      page.status = spn_status_;
    }
    co_return page;
  }
  net::Task<std::optional<Kept>> find_file(const ManifestFile& file) override {
    Kept kept;
    const json::value* known = captures_.if_contains(file.platform_url);
    if (known == nullptr) {
      if (spn_) co_return std::nullopt;
      kept.status = "no-capture";
      kept.capture.terminal_url = file.platform_url;
      co_return kept;
    }
    const json::object& capture = known->as_object();
    kept.capture = capture_of(capture);
    const std::string body = bytes_of(capture.at("body_b64"));
    const Result<std::optional<std::string>> inner =
        undo_gzip(body, text(capture, "cdx_mimetype"), 1 << 20);
    if (!inner.ok()) {
      kept.status = "transfer-encoding-error";
      co_return kept;
    }
    kept.capture.meta = file_meta_of(inner->value_or(body));
    const std::string mismatch = mismatch_of(file, kept.capture.meta, Compat::Strict);
    kept.status = mismatch.empty() ? "success" : "mismatch";
    co_return kept;
  }
  bool wants_bytes() const override { return false; }
  net::Task<Kept> keep_file(const ManifestFile&, const Downloaded*,
                            const std::filesystem::path&) override {
    ++spn_calls;
    Kept kept;
    kept.status = spn_status_;
    co_return kept;
  }

 private:
  static Capture capture_of(const json::object& from) {
    Capture capture;
    capture.terminal_url = text(from, "terminal_url");
    capture.terminal_dt = text(from, "terminal_dt");
    capture.status_code = static_cast<int>(from.at("terminal_status_code").as_int64());
    capture.cdx = {{"surt", "x)/"},
                   {"datetime", capture.terminal_dt},
                   {"url", capture.terminal_url},
                   {"mimetype", text(from, "cdx_mimetype")},
                   {"status_code", capture.status_code},
                   {"sha1b32", std::string(32, 'A')},
                   {"sha1hex", std::string(40, '0')},
                   {"warc_csize", 1},
                   {"warc_offset", 2},
                   {"warc_path", "it/a.warc.gz"}};
    return capture;
  }

  const json::object captures_;
  const bool spn_;
  const std::string spn_status_;
};

class FilesetScenarioTest : public FilesetTest {
 protected:
  void play(const json::object& scenario) {
    const json::object& input = scenario.at("input").as_object();
    const json::object& api = input.at("platform_api").as_object();
    const std::string answer = api.at("json").is_null() ? "" : json::serialize(api.at("json"));
    outside_ = ScriptedOutside();
    outside_.answer("https://zenodo.org/api/records/77",
                    static_cast<int>(api.at("http_status").as_int64()), answer);
    for (const auto& [url, bytes] : input.at("downloads_b64").as_object()) {
      outside_.file(std::string(url), bytes_of(bytes));
    }
    auto web = std::make_shared<ScenarioWeb>(input);
    web_now_ = web;
    items_ = std::make_shared<ScriptedItems>();
    items_->compat = Compat::Strict;
    fill_items(input.at("archiveorg_items").as_object());
    DatasetOrder order;
    order.collection = text(scenario, "name");  // nobody ends the jobs of the others here
    order.request = *parse_request(input.at("request"));
    order.options.strict = true;
    if (!input.at("forced_strategy").is_null()) {
      order.options.strategy = text(input, "forced_strategy");
    }
    const json::object result = result_of(begin(std::move(order)).id);
    const json::object& expect = scenario.at("expect").as_object();
    if (expect.contains("result")) {
      EXPECT_EQ(serialize_sorted(without_types(result)),
                serialize_sorted(without_types(expect.at("result"))));
    } else {
      // Where the original died, there is a status of ours.
      EXPECT_THAT(text(result, "status"), testing::AnyOf("platform-error", "unsafe-path"));
    }
    EXPECT_EQ(web->spn_calls, expect.at("spn_calls").as_int64());
    std::vector<std::string> uploads;
    for (const json::value& upload : expect.at("uploads").as_array()) {
      for (const json::value& file : upload.at("files").as_array()) {
        uploads.emplace_back(file.as_string());
      }
    }
    if (expect.contains("result")) {
      EXPECT_THAT(items_->uploads, testing::UnorderedElementsAreArray(uploads));
    }
  }

  void fill_items(const json::object& items) {
    for (const auto& [name, item] : items) {
      for (const json::value& one : item.at("files").as_array()) {
        const json::object& file = one.as_object();
        ManifestFile there;
        there.path = text(file, "name");
        there.size = file.at("size").as_int64();
        there.md5 = text(file, "md5");
        there.sha1 = text(file, "sha1");
        items_->items[std::string(name)].push_back(there);
      }
    }
  }

  std::shared_ptr<WebArchive> tool_web() override { return web_now_; }
  std::shared_ptr<WebArchive> web_now_;
};

TEST_P(FilesetScenarioTest, AllOfThemEndAsRecorded) {
  QUERN_CORPUS_OR_SKIP(folder);
  PlatformOptions strict;
  strict.strict = true;
  platforms_ = std::make_shared<const Platforms>(platforms(strict));
  std::ifstream file(folder / "filesets/worker_scenarios.json");
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  const json::array scenarios = json::parse(whole).as_array();
  EXPECT_EQ(scenarios.size(), 23U);
  for (const json::value& scenario : scenarios) {
    SCOPED_TRACE(text(scenario.as_object(), "name"));
    play(scenario.as_object());
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, FilesetScenarioTest, testing::Values(store::StoreKind::Sqlite),
                         store::store_name);

}  // namespace
}  // namespace quern::fileset
