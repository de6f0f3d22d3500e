#include "fileset/platform_figshare.h"

#include <fmt/format.h>

#include <algorithm>

#include "fileset/left_out.h"
#include "fileset/platform_api.h"

namespace quern::fileset {
namespace {

namespace json = boost::json;

constexpr std::size_t kFilesInArticle = 10;  // the article itself lists no more
constexpr std::size_t kFilesPerPage = 1'000;
constexpr std::size_t kIdDigitsMax = 18;

struct ArticleId {
  std::string article;
  std::string version;  // empty: the latest
};

bool is_number(std::string_view text) {
  return is_digits(text) && text.size() <= kIdDigitsMax;
}

bool is_type(std::string_view text) {
  constexpr std::string_view kTypes[] = {"book",
                                         "chapter",
                                         "code",
                                         "conference_contribution",
                                         "dataset",
                                         "figure",
                                         "fileset",
                                         "journal_contribution",
                                         "media",
                                         "model",
                                         "online_resource",
                                         "paper",
                                         "peer_review",
                                         "poster",
                                         "preprint",
                                         "presentation",
                                         "report",
                                         "software",
                                         "standard",
                                         "thesis",
                                         "workflow",
                                         "event",
                                         "exhibition",
                                         "monograph",
                                         "data_management_plan"};
  return std::ranges::find(kTypes, text) != std::end(kTypes);
}

// "/articles/[type/]{slug}/{id}[/{version}]". A slug may be a number, too. Behind a type that is
// not known here it is then taken for the id.
std::optional<ArticleId> article_in(const Place& place) {
  const auto& path = place.path();
  if (path.size() < 3 || path[0] != "articles" || !is_number(path.back())) return std::nullopt;
  const std::size_t slug = is_type(path[1]) && path.size() > 3 ? 2 : 1;
  const std::string& before = path[path.size() - 2];
  if (path.size() >= slug + 3 && is_number(before)) return ArticleId{before, path.back()};
  return ArticleId{path.back(), ""};
}

bool is_figshare(const Place& place) {
  return place.host == "figshare.com" || place.host.ends_with(".figshare.com");
}

class Figshare : public ApiPlatform {
 public:
  explicit Figshare(const PlatformOptions& options) : ApiPlatform(options) {}
  std::string_view name() const override { return "figshare"; }

  bool match(const Landing& landing) const override {
    const auto where = place_of(landing);
    if (!where) return false;
    if (is_figshare(*where)) return article_in(*where) || is_group(*where);
    return article_in(*where) && landing.html.find("figshare.com") != std::string::npos;
  }

  net::Task<PlatformAnswer> process(const Landing& landing, Outside& outside) const override {
    const auto where = place_of(landing);
    if (where && is_group(*where)) {
      co_return refused("platform-scope",
                        "this is a collection or a project: ask for each of its articles");
    }
    const auto id = where ? article_in(*where) : std::nullopt;
    if (!id) co_return refused("platform-scope", "the address names no article");
    std::string url = "https://api.figshare.com/v2/articles/" + id->article;
    if (!id->version.empty()) url += "/versions/" + id->version;
    const ApiAnswer answer = co_await get(outside, std::move(url));
    if (!answer.ok()) co_return answer.refusal;
    const Field article = answer.field();
    ArticleId known = *id;
    if (known.version.empty()) known.version = article["version"].id();
    PlatformAnswer refusal = judge(known, answer);
    if (is_refused(refusal)) co_return refusal;
    if (!is_figshare(*where) && !is_published_on(where->host, article)) {
      co_return refused("no-platform-match", "the article of this number is another portal's");
    }
    PlatformItem item;
    item.platform_name = name();
    item.platform_domain = where->host;
    LeftOut left_out;
    for (const Field file : article["files"].each()) take(file, item, left_out);
    if (article["files"].each().size() >= kFilesInArticle) {
      item.manifest.clear();
      left_out = LeftOut();
      ArticleId listed = known;
      refusal = co_await list_files(std::move(listed), outside, &item, &left_out);
      if (is_refused(refusal)) co_return refusal;
    }
    if (item.manifest.empty() && !left_out.empty()) co_return left_out.refusal("platform-scope");
    describe(known, article, item);
    left_out.note(item);
    co_return left_out.noted(finished(std::move(item)));
  }

 private:
  static bool is_group(const Place& place) {
    return is_figshare(place) &&
           (place.segment(0) == "collections" || place.segment(0) == "projects");
  }

  // A page of anybody may speak of figshare.com and have a number in its address.
  static bool is_published_on(const std::string& host, Field article) {
    const auto url = web::Url::parse(article["url_public_html"].text());
    return url.ok() && url->host() == host;
  }

  static PlatformAnswer judge(const ArticleId& id, const ApiAnswer& answer) {
    const Field article = answer.field();
    if (article.object() == nullptr) return refused("platform-error", "the answer is no article");
    if (!is_number(id.version)) return refused("platform-error", "the article has no version");
    const std::string said = article["id"].id();
    if (!said.empty() && said != id.article) {
      return refused("platform-error", fmt::format("asked for {}, got {}", id.article, said));
    }
    if (article["is_public"].is_false()) return refused("platform-restricted", "not public");
    const std::string until = article["embargo_date"].text();
    if (article["is_embargoed"].is_true()) {
      return refused("platform-restricted",
                     until.empty() ? "under embargo" : "under embargo until " + until);
    }
    if (article["is_confidential"].is_true()) {
      return refused("platform-restricted", "confidential");
    }
    return {};
  }

  static void take(Field row, PlatformItem& item, LeftOut& left_out) {
    ManifestFile file;
    file.path = row["name"].text();
    if (row["is_link_only"].is_true()) return left_out.add(file.path, "only a link to elsewhere");
    file.size = row["size"].size();
    const std::string computed = row["computed_md5"].text();
    take_checksum(file, "md5", computed.empty() ? row["supplied_md5"].text() : computed);
    file.mimetype = row["mimetype"].text();
    file.platform_url = row["download_url"].text();
    item.manifest.push_back(std::move(file));
  }

  // Page by page, until one is not full.
  net::Task<PlatformAnswer> list_files(ArticleId id, Outside& outside, PlatformItem* item,
                                       LeftOut* left_out) const {
    for (int page = 1; page <= kPagesMax; ++page) {
      std::string url = fmt::format(
          "https://api.figshare.com/v2/articles/{}/versions/{}/files?page={}&page_size={}",
          id.article, id.version, page, kFilesPerPage);
      const ApiAnswer answer = co_await get(outside, std::move(url));
      if (!answer.ok()) co_return answer.refusal;
      if (answer.field().list() == nullptr) {
        co_return refused("platform-error", "the list of files is none");
      }
      const std::vector<Field> files = answer.field().each();
      for (const Field file : files) take(file, *item, *left_out);
      if (files.size() < kFilesPerPage) co_return PlatformAnswer{};
      if (item->manifest.size() > kManifestFilesMax) break;
    }
    co_return refused("too-many-files", "the article has more files than are listed");
  }

  static void describe(const ArticleId& id, Field article, PlatformItem& item) {
    item.platform_id = id.article;
    item.archiveorg_item_name = item_name({item.platform_domain, id.article, "v" + id.version});
    json::array creators;
    for (const Field author : article["authors"].each()) {
      const std::string who = author["full_name"].text();
      if (!who.empty()) creators.emplace_back(who);
    }
    json::object& meta = item.archiveorg_item_meta;
    meta["collection"] = "datasets";
    if (!creators.empty()) meta["creator"] = std::move(creators);
    set_known(meta, "doi", article["doi"].text());
    set_known(meta, "title", article["title"].text());
    set_known(meta, "date", article["published_date"].text());
    set_known(meta, "source", article["url_public_html"].text());
    set_known(meta, "description", article["description"].text());
    set_known(meta, "license", article["license"]["url"].text());
    meta["version"] = id.version;
    item.web_bundle_url = fmt::format("https://ndownloader.figshare.com/articles/{}/versions/{}",
                                      id.article, id.version);
  }
};

}  // namespace

std::unique_ptr<Platform> make_figshare(const PlatformOptions& options) {
  return std::make_unique<Figshare>(options);
}

}  // namespace quern::fileset
