// Blocklists: addresses that are not fetched, and pages that are no landing page. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern::fileset {

// Strict: as the original, which refuses some hosts of datasets (GBIF, PANGAEA, PlutoF) and all of
// archive.org. Default: those are fetched; addresses of our own network are judged where sockets
// are made (web/address.h), not by their text.
enum class Compat { Default, Strict };

struct Refusal {
  std::string status;  // skip-url-blocklist, not-implemented, blocked-cookie
  std::string message;
};
// Before anything is fetched.
std::optional<Refusal> refuse_request(std::string_view url, Compat compat);
// Where it has led.
std::optional<Refusal> refuse_terminal(std::string_view url, Compat compat);
// What is asked for instead: an arXiv PDF by its name without ".pdf".
std::string rewritten_request(std::string url);

}  // namespace quern::fileset
