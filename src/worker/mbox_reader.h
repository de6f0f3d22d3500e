// MboxReader: the mails of a mailbox file, one after the other, in little memory.
//
// A mail begins at a line "From somebody ... 12:34 ..." that stands at the beginning or behind an
// empty line and is followed by a line of a head. Content-Length is not looked at: programs that
// edit mails do not keep it true. A ">" that was put before "From " goes again (mboxo, mboxrd).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "worker/mail_message.h"
#include "worker/step.h"

namespace quern::worker {

class MboxReader {
 public:
  explicit MboxReader(const StepInput& input);

  // False where there is none any more, or none at all.
  bool next();
  // The head of the mail, as it stands; cut where it is longer than any head.
  const std::string& head() const { return head_; }
  // All of it, the head first; once.
  void read(const ByteSink& sink);

  // Whether it is a mailbox: it begins with a line that begins a mail.
  bool found_separator() const { return found_separator_; }
  std::uint64_t position() const { return file_position_ - (buffer_.size() - at_); }

 private:
  struct Piece {
    std::string_view text;  // with its line end
    bool begins_line = false;
  };
  // Empty at the end of this mail.
  Piece piece();
  void fill();
  void skip_blank_lines();
  bool at_separator();
  std::string_view line_at(std::size_t at) const;

  StepInput input_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::uint64_t file_position_ = 0;  // behind the buffer
  std::string head_;
  bool at_line_begin_ = true;
  bool after_blank_ = true;
  bool found_separator_ = false;
};

}  // namespace quern::worker
