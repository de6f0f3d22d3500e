// Metadata: what a step found out about a file, beside what is known of it already.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace quern::worker {

// Of one value; what is longer is cut.
inline constexpr std::size_t kMetadataBytesMax = 4096;

class Metadata {
 public:
  // What the task says: a JSON object as text.
  explicit Metadata(const std::string& known);

  // Nothing where the value is blank; what stands there already stays.
  void add(std::string_view key, std::string_view value);
  // These are a step's own, so that they do replace.
  void set(std::string_view key, std::int64_t value);
  void set_true(std::string_view key);

  std::string json() const;

 private:
  boost::json::object object_;
};

// "D:20200327010935-04'00'" is "2020-03-27T01:09:35-0400"; what is no date comes back as it is.
std::string pdf_date(std::string_view date);

}  // namespace quern::worker
