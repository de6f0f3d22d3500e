#include "fileset/blocklist.h"

#include <gtest/gtest.h>

namespace quern::fileset {
namespace {

std::string request_status(std::string_view url, Compat compat) {
  const auto refusal = refuse_request(url, compat);
  return refusal ? refusal->status : "";
}
std::string terminal_status(std::string_view url, Compat compat) {
  const auto refusal = refuse_terminal(url, compat);
  return refusal ? refusal->status : "";
}

TEST(BlocklistTest, HostsOfDatasetsAreRefusedInStrictModeOnly) {
  for (const char* url : {"https://www.gbif.org/dataset/1", "https://doi.pangaea.de/10.1594/P.1",
                          "https://doi.org/10.15468/abc", "https://plutof.ut.ee/view/1"}) {
    EXPECT_EQ(request_status(url, Compat::Strict), "skip-url-blocklist") << url;
    EXPECT_EQ(request_status(url, Compat::Default), "") << url;
    EXPECT_EQ(terminal_status(url, Compat::Strict), "skip-url-blocklist") << url;
    EXPECT_EQ(terminal_status(url, Compat::Default), "") << url;
  }
}

TEST(BlocklistTest, OtherListedHostsAreRefusedInBoth) {
  for (const Compat compat : {Compat::Strict, Compat::Default}) {
    EXPECT_EQ(request_status("https://ieeexplore.ieee.org/document/1", compat),
              "skip-url-blocklist");
    EXPECT_EQ(terminal_status("https://orcid.org/0000", compat), "skip-url-blocklist");
    EXPECT_EQ(request_status("https://zenodo.org/records/1", compat), "");
  }
}

TEST(BlocklistTest, ArchiveOrgIsNotImplementedInStrictModeAndAllowedElse) {
  const char* const url = "https://archive.org/details/item";
  EXPECT_EQ(request_status(url, Compat::Strict), "not-implemented");
  EXPECT_EQ(request_status("http://web.archive.org/web/2020/http://a/", Compat::Strict),
            "not-implemented");
  EXPECT_EQ(request_status("https://scholar.archive.org/x", Compat::Strict), "");
  EXPECT_EQ(terminal_status(url, Compat::Strict), "skip-url-blocklist");
  EXPECT_EQ(request_status(url, Compat::Default), "");
  EXPECT_EQ(terminal_status(url, Compat::Default), "");
}

TEST(BlocklistTest, PagesThatWantCookiesAreNoLandingPages) {
  for (const Compat compat : {Compat::Strict, Compat::Default}) {
    EXPECT_EQ(terminal_status("https://a.example/action/cookieAbsent", compat), "blocked-cookie");
    EXPECT_EQ(terminal_status("https://a.example/?cookieSet=1", compat), "blocked-cookie");
    EXPECT_EQ(request_status("https://a.example/?cookieSet=1", compat), "");
  }
}

TEST(BlocklistTest, AnArxivPdfIsAskedForWithoutItsEnding) {
  EXPECT_EQ(rewritten_request("https://arxiv.org/pdf/2008.1.pdf"), "https://arxiv.org/pdf/2008.1");
  EXPECT_EQ(rewritten_request("https://arxiv.org/abs/2008.1.pdf"),
            "https://arxiv.org/abs/2008.1.pdf");
  EXPECT_EQ(rewritten_request("https://b.example/?u=http://arxiv.org/pdf/1.pdf"),
            "https://b.example/?u=http://arxiv.org/pdf/1.pdf");
}

}  // namespace
}  // namespace quern::fileset
