// Archive: the members of an archive become children, each as soon as it is whole.
#include <archive.h>
#include <fmt/format.h>

#include <cstdio>

#include "base/log.h"
#include "base/utf8.h"
#include "worker/archive_reader.h"
#include "worker/charset.h"
#include "worker/member_name.h"
#include "worker/steps.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr char kMemberType[] = "application/octet-stream";
// Up to here a member is kept back until it is known to be whole.
constexpr std::size_t kHeldBytesMax = 256 * 1024;
constexpr std::size_t kNamesMax = 2000;
constexpr std::size_t kZerosBytes = 64 * 1024;

class Unpacking {
 public:
  explicit Unpacking(StepContext& context) : context_(context), out_(context.out) {
    const ChildFields child{"", kMemberType, context.task.want_ocr};
    const std::string empty = child_json(context.task, child);
    // The name is the first field: {"filename":"", ...
    constexpr std::string_view kBefore = R"({"filename":")";
    before_ = std::string(kBefore) + json_escaped(context.task.filename) + "/";
    behind_ = empty.substr(kBefore.size());
  }

  StepEnd run() {
    if (auto failed = ArchiveReader::open(context_.inputs.at(0), reader_)) return failed;
    Member member;
    for (std::uint64_t count = 1;; ++count) {
      const ArchiveReader::Next next = reader_->next(member);
      if (next == ArchiveReader::Next::Failed) return broken_off();
      if (next == ArchiveReader::Next::End) break;
      if (count > context_.limits.members) {
        return Failure{ErrorKind::TooMany,
                       fmt::format("more than {} members", context_.limits.members)};
      }
      if (auto failed = take(member)) return failed;
    }
    if (reader_->is_single() && index_ == 0) finish_blob(name_inside(context_.task.filename));
    tell_skipped();
    return std::nullopt;
  }

 private:
  using Data = ArchiveReader::Data;

  std::optional<Failure> take(const Member& member) {
    if (member.kind != MemberKind::File) {
      ++(member.kind == MemberKind::Folder ? folders_
         : member.kind == MemberKind::Link ? links_
                                           : others_);
      return std::nullopt;
    }
    const std::string name = name_of(member);
    if (member.encrypted) {
      fail_member(name, {ErrorKind::Encrypted, kOpensWithPassword});
      return std::nullopt;
    }
    return unpack(name);
  }

  std::string name_of(const Member& member) {
    if (reader_->is_single()) return name_inside(context_.task.filename);
    if (!is_valid_utf8(member.raw_name) && charset_.empty()) {
      charset_ = charset_of_names(ArchiveReader::list_names(context_.inputs.at(0), kNamesMax));
    }
    std::string name = plain_name(decoded_name(member.raw_name, charset_));
    return name.empty() ? fmt::format("member-{}", index_) : name;
  }

  // The failure where nothing behind this member can be read.
  std::optional<Failure> unpack(const std::string& name) {
    held_.clear();
    written_ = 0;
    streaming_ = false;
    const std::uint64_t begin = reader_->position();
    ArchiveReader::Block block;
    for (;;) {
      const Data data = reader_->read(block);
      if (data == Data::Failed) return broken_off_in(name);
      if (data == Data::End) break;
      if (data == Data::Damaged) {
        fail_member(name, reader_->failure());
        return std::nullopt;
      }
      append_zeros(name, block.offset);
      append(name, block.bytes);
      if (expands_too_much(begin)) {
        fail_member(name, {ErrorKind::Ratio,
                           fmt::format("it expands more than {} times", context_.limits.ratio)});
        return std::nullopt;
      }
      if (all_expand_too_much()) return all_too_large(name);
    }
    written_before_ += written_;
    finish_blob(name);
    return std::nullopt;
  }

  // What a sparse file leaves out.
  void append_zeros(const std::string& name, std::uint64_t offset) {
    static const std::string zeros(kZerosBytes, '\0');
    while (written_ < offset) {
      const std::uint64_t bytes = std::min<std::uint64_t>(offset - written_, zeros.size());
      append(name, std::string_view(zeros).substr(0, bytes));
    }
  }

  void append(const std::string& name, std::string_view bytes) {
    written_ += bytes.size();
    if (!streaming_ && held_.size() + bytes.size() <= kHeldBytesMax) {
      held_.append(bytes);
      return;
    }
    if (!streaming_) {
      begin_child(name);
      out_.begin(part_name("blob"));
      out_.write(held_);
      streaming_ = true;
    }
    out_.write(bytes);
  }

  bool expands_too_much(std::uint64_t begin) const {
    if (written_ <= context_.limits.ratio_from_bytes) return false;
    const std::uint64_t read = std::max<std::uint64_t>(reader_->position() - begin, 1);
    return written_ / read > context_.limits.ratio;
  }

  // Members that lie over one another are each within reason, and all together beyond.
  bool all_expand_too_much() const {
    const std::uint64_t all = written_before_ + written_;
    if (all <= context_.limits.ratio_from_bytes) return false;
    const std::uint64_t input = std::max<std::uint64_t>(context_.inputs.at(0).bytes, 1);
    return all / input > context_.limits.ratio;
  }

  StepEnd all_too_large(const std::string& name) {
    if (streaming_) out_.end();
    tell_skipped();
    return Failure{ErrorKind::Ratio,
                   fmt::format("its members expand to more than {} times its size (in {}, after {} "
                               "members): a bomb",
                               context_.limits.ratio, name, index_)};
  }

  const std::string& part_name(std::string_view kind) {
    part_name_.clear();
    fmt::format_to(std::back_inserter(part_name_), "{}.{}", index_, kind);
    return part_name_;
  }

  void begin_child(const std::string& name) {
    out_.begin(part_name("json"));
    out_.write(before_);
    out_.write(json_escaped(name));
    out_.write(behind_);
    out_.end();
  }

  void finish_blob(const std::string& name) {
    if (streaming_) {
      out_.end();
    } else {
      begin_child(name);
      out_.part(part_name("blob"), held_);
    }
    streaming_ = false;
    finish_child();
  }

  void fail_member(const std::string& name, const Failure& failure) {
    if (streaming_) {
      out_.end();
    } else {
      begin_child(name);
    }
    streaming_ = false;
    out_.part(part_name("error"), failure_json(failure));
    finish_child();
  }

  // The part behind a child tells that it is whole.
  void finish_child() {
    const std::uint64_t total = context_.inputs.at(0).bytes;
    progress_ = std::max(progress_, std::min(reader_->position(), total));
    part_name_.clear();
    fmt::format_to(std::back_inserter(part_name_), R"({{"bytes":{{"nProcessed":{},"nTotal":{}}}}})",
                   progress_, total);
    out_.part("progress", part_name_);
    ++index_;
  }

  StepEnd broken_off() {
    tell_skipped();
    Failure failure = reader_->failure();
    failure.message += fmt::format(" (after {} members)", index_);
    return failure;
  }

  // No progress behind it: what has come of this member is dropped.
  StepEnd broken_off_in(const std::string& name) {
    if (streaming_) out_.end();
    tell_skipped();
    Failure failure = reader_->failure();
    failure.message += fmt::format(" (in {}, after {} members)", name, index_);
    return failure;
  }

  void tell_skipped() const {
    if (folders_ + links_ + others_ == 0) return;
    std::fprintf(stderr, "skipped %d folders, %d links, %d devices\n", folders_, links_, others_);
  }

  StepContext& context_;
  PartWriter& out_;
  std::unique_ptr<ArchiveReader> reader_;
  std::string before_;
  std::string behind_;
  std::string charset_;
  std::string held_;
  std::string part_name_;
  std::uint64_t index_ = 0;
  std::uint64_t written_ = 0;         // of this member
  std::uint64_t written_before_ = 0;  // of the good ones before it
  std::uint64_t progress_ = 0;
  bool streaming_ = false;  // its blob has begun
  int folders_ = 0;
  int links_ = 0;
  int others_ = 0;
};

std::string version() {
  return fmt::format("1 {}", ::archive_version_string());
}

void warm() {
  warm_charsets();
}

StepEnd run(StepContext& context) {
  return Unpacking(context).run();
}

}  // namespace

Step archive_step() {
  return {"Archive", version, warm, run, 1};
}

}  // namespace quern::worker
