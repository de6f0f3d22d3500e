#include "fileset/resolve.h"

#include <fmt/format.h>

#include "fileset/biblio.h"
#include "fileset/blocklist.h"
#include "fileset/item_upload.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

class Resolving {
 public:
  Resolving(const RequestRow& row, const Tools& tools, Outside& outside, StrategyLimits limits)
      : row_(row), tools_(tools), outside_(outside), limits_(limits) {
    compat_ = row.options.strict ? Compat::Strict : Compat::Default;
  }

  net::Task<Resolution> run() {
    const bool landed = co_await find_page();
    if (!landed) co_return std::move(out_);
    const Platform* platform = match();
    if (platform == nullptr) {
      end("no-platform-match", row_.options.strict ? "" : "no platform knows this page");
      co_return std::move(out_);
    }
    const bool listed = co_await ask_platform(*platform);
    if (!listed || !is_within_limits() || !choose(*platform)) co_return std::move(out_);
    if (is_item(out_.strategy)) co_await look_for_item();
    co_return std::move(out_);
  }

 private:
  void end(std::string status, std::string message, bool passing = false) {
    out_.status = std::move(status);
    out_.message = std::move(message);
    out_.passing = passing;
  }

  // The original says why in one case only.
  void refuse(const Refusal& refusal) {
    const bool silent = row_.options.strict && refusal.status != "not-implemented";
    end(refusal.status, silent ? "" : refusal.message);
  }

  net::Task<bool> find_page() {
    const std::string& url = row_.request.clean_url;
    out_.landed.hops.push_back(url);
    if (const std::optional<Refusal> refusal = refuse_request(url, compat_)) {
      refuse(*refusal);
      co_return false;
    }
    const std::string asked = rewritten_request(url);
    const bool force = row_.request.force_recrawl || row_.options.force_recrawl;
    Resource page = co_await tools_.web->find_page(asked, force);
    const std::string terminal = page.capture.terminal_url;
    if (!terminal.empty() && terminal != url) out_.landed.hops.push_back(terminal);
    out_.landed.capture = std::move(page.capture);
    if (page.status != "success") {
      end(page.status, row_.options.strict ? "" : page.message, page.passing);
      co_return false;
    }
    if (const std::optional<Refusal> refusal = refuse_terminal(terminal, compat_)) {
      refuse(*refusal);
      co_return false;
    }
    out_.landed.accepted = true;
    read_page(std::move(page.body));
    co_return true;
  }

  void read_page(std::string body) {
    const Capture& capture = *out_.landed.capture;
    landing_.base_url = row_.request.clean_url;
    landing_.terminal_url = capture.terminal_url;
    landing_.status = capture.status_code;
    landing_.mimetype = capture.meta.mimetype;
    const std::string& type = landing_.mimetype;
    const bool page = type.find("html") != type.npos || type.find("application/xml") != type.npos ||
                      type.find("text/xml") != type.npos;
    if (!page) return;
    const json::value biblio = without_nul(html_biblio(body, capture.terminal_url));
    landing_.html_biblio = biblio.as_object();
    out_.landed.html_biblio = landing_.html_biblio;
    landing_.html = std::move(body);
  }

  const Platform* match() const {
    for (const std::unique_ptr<Platform>& platform : *tools_.platforms) {
      if (platform->match(landing_)) return platform.get();
    }
    return nullptr;
  }

  net::Task<bool> ask_platform(const Platform& platform) {
    PlatformAnswer answer = co_await platform.process(landing_, outside_);
    const bool named = !answer.item.platform_name.empty();
    const bool listed = answer.status == "success" || answer.status == "empty-manifest";
    if (listed && named) {
      Result<PlatformItem> item = parse_platform_item(without_nul(to_json(answer.item)));
      if (!item.ok()) {
        end("platform-error", item.error().message());
        co_return false;
      }
      out_.item = *std::move(item);
    }
    if (answer.status != "success") {
      const bool silent = row_.options.strict && answer.status == "empty-manifest";
      end(answer.status, silent ? "" : answer.message, answer.passing);
      co_return false;
    }
    const bool only_bundle = !row_.options.strict && !answer.item.web_bundle_url.empty();
    if (answer.item.manifest.empty() && !only_bundle) {
      end("empty-manifest", row_.options.strict ? "" : "the platform lists no file");
      co_return false;
    }
    co_return true;
  }

  // The size first, as the original.
  bool is_within_limits() {
    const bool strict = row_.options.strict;
    if (out_.item->total_size() > row_.options.bytes_max) {
      end("too-large-size", strict
                                ? ""
                                : fmt::format("its files have {} bytes, and at most {} are taken",
                                              out_.item->total_size(), row_.options.bytes_max));
      return false;
    }
    const auto count = static_cast<std::int64_t>(out_.item->manifest.size());
    if (count > row_.options.files_max) {
      end("too-many-files", strict ? ""
                                   : fmt::format("it has {} files, and at most {} are taken", count,
                                                 row_.options.files_max));
      return false;
    }
    return true;
  }

  bool choose(const Platform& platform) {
    StrategyOptions options;
    options.limits = limits_;
    options.strict = row_.options.strict;
    options.bundle = row_.options.bundle;
    options.archiveorg = tools_.items != nullptr;
    options.forced = row_.options.strategy;
    out_.strategy = platform.choose_strategy(*out_.item, options);
    std::string why;
    if (is_item(out_.strategy) && tools_.items == nullptr) {
      why = "there is no account of archive.org to upload with";
    } else if (is_bundled(out_.strategy) && row_.options.strict) {
      why = "bundles are not kept in strict mode";
    } else if (is_bundled(out_.strategy) && out_.item->web_bundle_url.empty()) {
      why = "the platform has no bundle of its files";
    } else if (is_single(out_.strategy) && out_.item->manifest.size() != 1) {
      why = "a strategy for a single file was asked for, but there are several";
    }
    if (why.empty()) return true;
    end("no-strategy-helper", why);
    out_.strategy.clear();
    return false;
  }

  net::Task<> look_for_item() {
    const ItemArchive::Existing existing = co_await tools_.items->check_existing(*out_.item);
    if (existing.status != "success") {
      end(existing.status, existing.message, true);
      co_return;
    }
    if (is_bundled(out_.strategy)) co_return;
    if (existing.complete) {
      out_.exists.assign(out_.item->manifest.size(), true);
      co_return;
    }
    if (out_.item->platform_name == "archiveorg") {
      end("platform-scope", "not all files of the item are there");
      out_.strategy.clear();
      co_return;
    }
    if (!row_.options.strict) {
      out_.exists = files_there(out_.item->manifest, existing.files, compat_);
    }
  }

  const RequestRow& row_;
  const Tools& tools_;
  Outside& outside_;
  const StrategyLimits limits_;
  Compat compat_ = Compat::Default;
  Landing landing_;
  Resolution out_;
};

}  // namespace

net::Task<Resolution> resolve(const RequestRow& row, const Tools& tools, Outside& outside,
                              StrategyLimits limits) {
  Resolving resolving(row, tools, outside, limits);
  co_return co_await resolving.run();
}

}  // namespace quern::fileset
