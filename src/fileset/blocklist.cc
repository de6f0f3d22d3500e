#include "fileset/blocklist.h"

#include <fmt/format.h>

#include <array>

namespace quern::fileset {
namespace {

using std::literals::operator""sv;

// Who they are for: all modes, or only for answers like the original's.
constexpr std::array kBlocked = {"://hkvalidate.perfdrive.com/"sv,
                                 "://ieeexplore.ieee.org/"sv,
                                 "://openlibrary.org/"sv,
                                 "://www.openlibrary.org/"sv,
                                 "://fatcat.wiki/"sv,
                                 "://orcid.org/"sv,
                                 "://bartandjones.com"sv,
                                 "://ijretm.com"sv,
                                 "://ijrcemas.com"sv,
                                 "://jist.net.in"sv,
                                 "://croisements-revue.org"sv,
                                 "://page-one.live.cf.public.springer.com"sv,
                                 "doi.org/10.2307/"sv,
                                 "doi.org/10.48550/"sv,
                                 "://edoc.mpg.de/"sv,
                                 "://isiarticles.com/"sv,
                                 "://unsworks.unsw.edu.au/"sv};
constexpr std::array kStrictBlocked = {"://localhost/"sv,
                                       "://127.0.0.1/"sv,
                                       "plutof.ut.ee/"sv,
                                       "www.gbif.org/"sv,
                                       "doi.pangaea.de/"sv,
                                       "://doi.org/10.25642/ipk/gbis/"sv,
                                       "://apex.ipk-gatersleben.de/"sv,
                                       "fao.org/glis/"sv,
                                       "dhz.uni-passau.de/"sv,
                                       "digital.ucd.ie/"sv,
                                       "doi.org/10.18730/"sv,
                                       "doi.org/10.15468/"sv};
// The request may have them, in both modes: they are looked for in the terminal only, since the
// original leaves out what has "archive.org" in it.
constexpr std::array kStrictTerminal = {"://archive.org/"sv, "://www.archive.org/"sv,
                                        "://web.archive.org/web/"sv, "://scholar.archive.org/"sv,
                                        "www.plate-archive.org/"sv};
constexpr std::array kCookie = {"/cookieAbsent"sv, "cookieSet=1"sv, "error=cookies_not_supported"sv,
                                "://secure.jbs.elsevierhealth.com/"sv};
constexpr std::array kNotFetched = {"http://web.archive.org/web/"sv,
                                    "https://web.archive.org/web/"sv, "http://archive.org/"sv,
                                    "https://archive.org/"sv};

std::string_view found_in(const auto& list, std::string_view url) {
  for (const std::string_view part : list) {
    if (url.find(part) != std::string_view::npos) return part;
  }
  return {};
}

Refusal blocked(std::string_view part) {
  return {"skip-url-blocklist", fmt::format("addresses with \"{}\" are not fetched", part)};
}

std::optional<Refusal> refuse_listed(std::string_view url, Compat compat) {
  std::string_view part = found_in(kBlocked, url);
  if (part.empty() && compat == Compat::Strict) part = found_in(kStrictBlocked, url);
  if (part.empty()) return std::nullopt;
  return blocked(part);
}

}  // namespace

std::optional<Refusal> refuse_request(std::string_view url, Compat compat) {
  if (auto refusal = refuse_listed(url, compat)) return refusal;
  if (compat != Compat::Strict) return std::nullopt;
  for (const std::string_view beginning : kNotFetched) {
    if (url.starts_with(beginning)) {
      return Refusal{"not-implemented", "fetching from archive.org not implemented yet"};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_terminal(std::string_view url, Compat compat) {
  if (auto refusal = refuse_listed(url, compat)) return refusal;
  if (compat == Compat::Strict) {
    const std::string_view part = found_in(kStrictTerminal, url);
    if (!part.empty()) return blocked(part);
  }
  if (!found_in(kCookie, url).empty()) {
    return Refusal{"blocked-cookie", "the site answers only to who keeps its cookies"};
  }
  return std::nullopt;
}

std::string rewritten_request(std::string url) {
  constexpr std::string_view kEnd = ".pdf";
  const std::size_t at = url.find("://arxiv.org/pdf/");
  const bool is_web = at == 4 || at == 5;  // behind http or https
  if (is_web && url.ends_with(kEnd)) url.resize(url.size() - kEnd.size());
  return url;
}

}  // namespace quern::fileset
