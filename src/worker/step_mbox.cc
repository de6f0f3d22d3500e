// Mbox: each mail of a mailbox becomes a child, which Email shows.
#include <fmt/format.h>
#include <gmime/gmime.h>

#include "worker/child_writer.h"
#include "worker/mail_children.h"
#include "worker/mbox_reader.h"
#include "worker/mime_message.h"
#include "worker/steps.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

std::string version() {
  return fmt::format("1 gmime {}.{}.{}", GMIME_MAJOR_VERSION, GMIME_MINOR_VERSION,
                     GMIME_MICRO_VERSION);
}

bool begins_subject(std::string_view line) {
  constexpr std::string_view kName = "subject:";
  if (line.size() < kName.size()) return false;
  for (std::size_t i = 0; i < kName.size(); ++i) {
    if ((line[i] | 0x20) != (kName[i] | 0x20)) return false;
  }
  return true;
}

// Decoded; with the lines that it goes on in.
std::string subject_of(std::string_view head) {
  std::string subject;
  bool inside = false;
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size() - 1) + 1;
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end);
    const bool goes_on = line.starts_with(' ') || line.starts_with('\t');
    if (inside && !goes_on) break;
    if (!inside && begins_subject(line)) {
      inside = true;
      subject = line.substr(8);
    } else if (inside) {
      subject += line;
    }
  }
  char* decoded = ::g_mime_utils_header_decode_text(nullptr, subject.c_str());
  std::string result = decoded != nullptr ? decoded : "";
  ::g_free(decoded);
  return result;
}

StepEnd run(StepContext& context) {
  const StepInput& input = context.inputs.at(0);
  MboxReader reader(input);
  ChildWriter out(context);
  while (reader.next()) {
    if (out.count() >= context.limits.members) {
      return Failure{ErrorKind::TooMany, fmt::format("more than {} mails", context.limits.members)};
    }
    const std::string name = message_filename(subject_of(reader.head()));
    const Child child{fmt::format("{}/{:06} {}", context.task.filename, out.count() + 1, name),
                      "message/rfc822"};
    out.stream(child, [&](const ByteSink& sink) {
      reader.read(sink);
      return std::optional<Failure>();
    });
    out.progress_of_bytes(reader.position(), input.bytes);
  }
  if (input.bytes == 0 || reader.found_separator()) return std::nullopt;
  return Failure{ErrorKind::Corrupt, "no mailbox: it does not begin with a \"From \" line"};
}

}  // namespace

Step mbox_step() {
  return {"Mbox", version, warm_mime, run, 1};
}

}  // namespace quern::worker
