// Email: a mail becomes the document that shows it, and children for what hangs on it.
#include <fmt/format.h>
#include <gmime/gmime.h>

#include <charconv>

#include "worker/mail_children.h"
#include "worker/mime_message.h"
#include "worker/steps.h"

namespace quern::worker {
namespace {

constexpr std::size_t kLengthLineMax = 32;

std::string version() {
  return fmt::format("1 gmime {}.{}.{}", GMIME_MAJOR_VERSION, GMIME_MINOR_VERSION,
                     GMIME_MICRO_VERSION);
}

// An emlx begins with a line that tells the length of the mail; a property list is behind it. An
// mbox of one mail that calls itself a mail begins with a "From " line.
ByteRange mail_within(const StepInput& input) {
  const ByteRange all{0, input.bytes};
  const std::string head = read_input(input, kLengthLineMax * 64);
  const std::size_t end = head.find('\n');
  if (end == std::string::npos) return all;
  if (head.starts_with("From ") || head.starts_with(">From ")) return {end + 1, input.bytes};
  if (end > kLengthLineMax) return all;
  std::uint64_t length = 0;
  const char* begin = head.data() + std::min(head.find_first_not_of(' '), end);
  const auto [rest, failed] = std::from_chars(begin, head.data() + end, length);
  const bool is_number =
      failed == std::errc() &&
      head.find_first_not_of(" \r\t", static_cast<std::size_t>(rest - head.data())) == end;
  if (!is_number) return all;
  return {end + 1, std::min<std::uint64_t>(end + 1 + length, input.bytes)};
}

StepEnd run(StepContext& context) {
  const StepInput& input = context.inputs.at(0);
  MailMessage message;
  if (auto failed = read_mime_message(input, mail_within(input), message)) return failed;
  write_mail(context, message);
  return std::nullopt;
}

}  // namespace

Step email_step() {
  return {"Email", version, warm_mime, run, 4};
}

}  // namespace quern::worker
