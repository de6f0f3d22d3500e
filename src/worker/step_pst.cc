// Pst: an Outlook store becomes its messages, each a mail that Email shows; events and contacts
// become calendars and cards.
#include <fmt/format.h>

#include <set>

#include "worker/charset.h"
#include "worker/child_writer.h"
#include "worker/eml_writer.h"
#include "worker/mail_children.h"
#include "worker/pff_message.h"
#include "worker/steps.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr int kFolderDepthMax = 64;

std::string version() {
  return fmt::format("1 libpff {}", ::libpff_get_version());
}

std::string folder_name(const MapiBag& bag) {
  std::string name = bag.text(mapi::kDisplayName);
  std::replace(name.begin(), name.end(), '/', '-');
  return name.empty() || name == "." || name == ".." ? "folder" : name;
}

class Store {
 public:
  explicit Store(StepContext& context) : context_(context), out_(context) {}

  StepEnd run() {
    if (auto failure = file_.open(context_.inputs.at(0))) return failure;
    codepage_ = file_.codepage();
    top_ = file_.top_identifier();
    const PffItem root = file_.root_folder();
    if (!root) return Failure{ErrorKind::Corrupt, "the Outlook store has no folders"};
    folder(root, context_.task.filename, 0);
    if (too_many_) {
      return Failure{ErrorKind::TooMany,
                     fmt::format("more than {} items", context_.limits.members)};
    }
    return std::nullopt;
  }

 private:
  void folder(const PffItem& item, const std::string& path, int depth) {
    // A folder may not be its own parent, whatever a damaged store says.
    if (depth > kFolderDepthMax || !seen_.insert(identifier_of(item.get())).second) return;
    messages(item, path);
    int count = 0;
    if (::libpff_folder_get_number_of_sub_folders(item.get(), &count, nullptr) != 1) {
      out_.failed({path + "/folders"}, {ErrorKind::Corrupt, "its folders cannot be listed"});
      return;
    }
    for (int i = 0; i < count && !too_many_; ++i) {
      libpff_item_t* raw = nullptr;
      if (::libpff_folder_get_sub_folder(item.get(), i, &raw, nullptr) != 1) {
        out_.failed({fmt::format("{}/folder-{}", path, i + 1)},
                    {ErrorKind::Corrupt, "this folder of the Outlook store is damaged"});
        continue;
      }
      const PffItem child = pff_owned(raw);
      const bool is_top = top_ != 0 && identifier_of(raw) == top_;
      const std::string name = folder_name(bag_of(raw, codepage_));
      folder(child, is_top ? path : path + "/" + name, depth + 1);
    }
  }

  void messages(const PffItem& item, const std::string& path) {
    int count = 0;
    if (::libpff_folder_get_number_of_sub_messages(item.get(), &count, nullptr) != 1) {
      out_.failed({path + "/messages"}, {ErrorKind::Corrupt, "its messages cannot be listed"});
      return;
    }
    for (int i = 0; i < count && !too_many_; ++i) {
      if (out_.count() >= context_.limits.members) {
        too_many_ = true;
        return;
      }
      const std::string stem = fmt::format("{}/{:04}", path, i + 1);
      libpff_item_t* raw = nullptr;
      if (::libpff_folder_get_sub_message(item.get(), i, &raw, nullptr) != 1) {
        out_.failed({stem + ".eml"}, {ErrorKind::Corrupt, "it is damaged in the Outlook store"});
      } else {
        message(pff_owned(raw), stem);
      }
      out_.progress_of_children(out_.count(), 0);
    }
  }

  void message(const PffItem& item, const std::string& stem) {
    const MapiBag bag = bag_of(item.get(), codepage_);
    const PffKind kind = pff_kind(bag);
    if (kind == PffKind::Hidden) return;
    MailMessage mail;
    read_pff_message(item, codepage_, mail);
    if (kind == PffKind::Message) {
      write_message(mail, stem);
      return;
    }
    const bool event = kind == PffKind::Event;
    const std::string name = stem + (event ? ".ics" : ".vcard");
    out_.whole({name, event ? "text/calendar" : "text/vcard"},
               event ? event_text(bag, mail, identifier_of(item.get())) : contact_text(bag));
    ChildNames names;
    for (const MailAttachment& attachment : mail.attachments) {
      Child child{name + "/" + names.add(attachment.name, attachment.mime_type)};
      if (attachment.is_message) child.content_type = "message/rfc822";
      if (attachment.failure) {
        out_.failed(child, *attachment.failure);
      } else {
        out_.stream(child, attachment.read);
      }
    }
  }

  // What of it could not be read is told beside it.
  void write_message(const MailMessage& mail, const std::string& stem) {
    const std::string name = stem + " " + message_filename(mail.field("Subject"));
    std::vector<MailLoss> losses;
    out_.stream({name, "message/rfc822"}, [&](const ByteSink& sink) {
      losses = write_eml(mail, sink);
      return std::optional<Failure>();
    });
    ChildNames names;
    for (const MailLoss& loss : losses) {
      out_.failed({name + "/" + names.add(loss.name, "")}, loss.failure);
    }
  }

  StepContext& context_;
  ChildWriter out_;
  PffFile file_;
  std::uint64_t codepage_ = 0;
  std::uint32_t top_ = 0;
  std::set<std::uint32_t> seen_;
  bool too_many_ = false;
};

StepEnd run(StepContext& context) {
  return Store(context).run();
}

}  // namespace

Step pst_step() {
  return {"Pst", version, warm_charsets, run, 1};
}

}  // namespace quern::worker
