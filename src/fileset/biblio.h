// html_biblio: what the head of a landing page says of the work: title, authors, date, identifiers.
//
// The page is hostile. A scanner looks at the tags of the head one after the other, once, without a
// tree and without recursion; it ends with the head. Pure, total, bounded.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace quern::fileset {

inline constexpr std::size_t kHeadScanBytesMax = 4 * 1024 * 1024;
inline constexpr std::size_t kMetaTagsMax = 5000;
inline constexpr std::size_t kMetaTextBytesMax = 64 * 1024;
inline constexpr std::size_t kAttributesMax = 64;  // of a tag

// A meta tag of the head. Values have no character references left, and are valid UTF-8.
struct MetaTag {
  std::string name;
  std::string id;
  std::string property;
  std::string itemprop;
  std::string scheme;
  std::string content;
};
std::vector<MetaTag> scan_head(std::string_view html);

// "September 10, 2020", "2019/04/22", "2017-05": as "2020-09-10"; empty where it is no date of a
// day.
std::string parsed_date(std::string_view text);

// All that the head says.
boost::json::object biblio_of_head(std::string_view html, std::string_view page_url);
// The same, as a result has it: empty where the page says no title.
boost::json::object html_biblio(std::string_view html, std::string_view page_url);

}  // namespace quern::fileset
