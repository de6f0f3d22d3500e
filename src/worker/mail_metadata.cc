#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "base/utf8.h"
#include "worker/mail_message.h"

namespace quern::worker {
namespace {

namespace json = boost::json;

constexpr std::array kAddresses = {"From", "To", "Cc", "Bcc", "Reply-To"};
constexpr std::array kOthers = {"Date", "Subject", "Message-ID", "In-Reply-To", "References"};

std::string bounded(std::string value) {
  if (value.size() > kMailFieldBytesMax) {
    value.resize(valid_utf8_prefix(std::string_view(value).substr(0, kMailFieldBytesMax)));
    value += "…";
  }
  return value;
}

}  // namespace

std::string mail_metadata(const std::string& metadata, const MailMessage& message) {
  boost::system::error_code failed;
  json::value parsed = json::parse(metadata, failed);
  json::object object = !failed && parsed.is_object() ? parsed.get_object() : json::object();
  for (const char* name : kAddresses) {
    const std::string value = message.field(name);
    // What the mail around this one says is not true of this one.
    if (value.empty()) {
      object.erase(name);
    } else {
      object[name] = bounded(value);
    }
  }
  for (const char* name : kOthers) {
    const std::string value = message.field(name);
    if (value.empty()) {
      object[name] = nullptr;
    } else {
      object[name] = bounded(value);
    }
  }
  return json::serialize(object);
}

}  // namespace quern::worker
