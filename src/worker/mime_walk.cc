#include "worker/mime_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/utf8.h"
#include "worker/mail_children.h"
#include "worker/mail_document.h"
#include "worker/smime.h"
#include "worker/tnef_reader.h"
#include "worker/uuencode.h"

namespace quern::worker {

using model::ErrorKind;

namespace {

// Of an envelope that is opened in memory.
constexpr std::size_t kOpenedBytesMax = 256 << 20;

enum class Where { Mixed, Alternative, Related };

MailAttachment failed_part(std::string name, Failure failure) {
  MailAttachment attachment;
  attachment.name = std::move(name);
  attachment.failure = std::move(failure);
  return attachment;
}

bool is_text(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") != std::string_view::npos;
}

class Walk {
 public:
  Walk(WalkState& state, WalkedParts& out) : state_(state), out_(out) {}

  void part(GMimeObject* object, int depth, Where where) {
    if (object == nullptr || state_.too_many) return;
    if (++state_.count > kMailPartsMax) {
      state_.too_many = true;
      out_.attachments.push_back(failed_part(
          "more parts", {ErrorKind::TooMany, fmt::format("more than {} parts", kMailPartsMax)}));
      return;
    }
    if (depth > kMailDepthMax) {
      out_.attachments.push_back(
          failed_part("deeper parts", {ErrorKind::TooDeep, fmt::format("parts within more than {} "
                                                                       "parts",
                                                                       kMailDepthMax)}));
      return;
    }
    if (GMIME_IS_MULTIPART(object)) {
      multipart(GMIME_MULTIPART(object), depth);
    } else if (GMIME_IS_MESSAGE_PART(object)) {
      message(GMIME_MESSAGE_PART(object));
    } else if (GMIME_IS_PART(object)) {
      leaf(GMIME_PART(object), depth, where);
    }
  }

 private:
  void multipart(GMimeMultipart* parts, int depth) {
    const std::string type = mime_type_of(GMIME_OBJECT(parts));
    const int count = ::g_mime_multipart_get_count(parts);
    if (type == "multipart/encrypted") {
      out_.attachments.push_back(failed_part(
          "encrypted message", {ErrorKind::Encrypted,
                                "it is encrypted for its recipient (PGP): save it decrypted from "
                                "the mail program that has the key"}));
    } else if (count == 0) {
      // No boundary was found: all of it stands before the first.
      const char* prologue = ::g_mime_multipart_get_prologue(parts);
      const std::string text = mail_text(prologue != nullptr ? prologue : "", "");
      if (is_text(text)) out_.body.push_back({BodyPiece::Kind::Text, text});
    } else if (type == "multipart/alternative") {
      alternative(parts, depth);
    } else if (type == "multipart/signed") {
      for (int i = 0; i < count; ++i) {
        GMimeObject* object = ::g_mime_multipart_get_part(parts, i);
        // A signature says nothing to a reader; something else in its place may.
        if (i > 0 && mime_type_of(object).ends_with("-signature")) continue;
        part(object, depth + 1, Where::Mixed);
      }
    } else {
      const Where where = type == "multipart/related" ? Where::Related : Where::Mixed;
      for (int i = 0; i < count; ++i) {
        // The root of related ones is no picture beside the text but the text.
        const Where at = i == 0 && where == Where::Related ? Where::Mixed : where;
        part(::g_mime_multipart_get_part(parts, i), depth + 1, at);
      }
    }
  }

  // The same thing in several forms, the best one last: HTML, where there is something in it.
  void alternative(GMimeMultipart* parts, int depth) {
    const int count = ::g_mime_multipart_get_count(parts);
    std::vector<WalkedParts> forms(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      Walk(state_, forms[static_cast<std::size_t>(i)])
          .part(::g_mime_multipart_get_part(parts, i), depth + 1, Where::Alternative);
    }
    const auto has = [](BodyPiece::Kind kind) {
      return [kind](const WalkedParts& form) { return form.has_visible(kind); };
    };
    auto best = std::find_if(forms.rbegin(), forms.rend(), has(BodyPiece::Kind::Html));
    if (best == forms.rend()) {
      best = std::find_if(forms.rbegin(), forms.rend(), has(BodyPiece::Kind::Text));
    }
    if (best != forms.rend()) {
      const Words shown = words_of(joined_text(best->body));
      out_.body.insert(out_.body.end(), best->body.begin(), best->body.end());
      take_attachments(best->attachments);
      // Forms that are not the same thing at all are hidden from nobody.
      for (WalkedParts& form : forms) {
        if (&form == &*best || !is_hidden_by(form, *best, shown)) continue;
        std::move(form.body.begin(), form.body.end(), std::back_inserter(out_.body));
      }
    }
    for (WalkedParts& form : forms) {
      if (best == forms.rend() || &form != &*best) take_attachments(form.attachments);
    }
  }

  // A second text of one kind is no other form of the first.
  static bool is_hidden_by(const WalkedParts& form, const WalkedParts& best, const Words& shown) {
    const bool html = form.has_visible(BodyPiece::Kind::Html);
    if (!html && !form.has_visible(BodyPiece::Kind::Text)) return false;
    const bool same_kind = html == best.has_visible(BodyPiece::Kind::Html);
    return says_other_things(joined_text(form.body), shown, same_kind ? News::Any : News::Half);
  }

  static std::string joined_text(const std::vector<BodyPiece>& body) {
    std::string text;
    for (const BodyPiece& piece : body) text += piece.text + "\n";
    return text;
  }

  // What hangs on one form of a text often hangs on the others too.
  void take_attachments(std::vector<MailAttachment>& attachments) {
    for (MailAttachment& attachment : attachments) {
      const auto same = [&](const MailAttachment& other) {
        return !attachment.name.empty() && other.name == attachment.name &&
               other.content_id == attachment.content_id &&
               other.bytes_hint == attachment.bytes_hint;
      };
      if (std::none_of(out_.attachments.begin(), out_.attachments.end(), same)) {
        out_.attachments.push_back(std::move(attachment));
      }
    }
  }

  void message(GMimeMessagePart* object) {
    GMimeMessage* inner = ::g_mime_message_part_get_message(object);
    if (inner == nullptr) {
      out_.attachments.push_back(
          failed_part(filename_of(GMIME_OBJECT(object)),
                      {ErrorKind::Corrupt, "a message without anything in it"}));
      return;
    }
    MailAttachment attachment;
    attachment.is_message = true;
    attachment.mime_type = "message/rfc822";
    attachment.name = filename_of(GMIME_OBJECT(object));
    const char* subject = ::g_mime_message_get_subject(inner);
    if (attachment.name.empty())
      attachment.name = message_filename(subject != nullptr ? subject : "");
    attachment.read = [kept = g_shared(inner)](const ByteSink& sink) {
      write_object(GMIME_OBJECT(kept.get()), sink);
      return std::optional<Failure>();
    };
    out_.attachments.push_back(std::move(attachment));
  }

  void leaf(GMimePart* leaf, int depth, Where where) {
    GMimeObject* object = GMIME_OBJECT(leaf);
    const std::string type = mime_type_of(object);
    const std::string name = filename_of(object);
    const bool named = !name.empty() && where != Where::Alternative && depth > 0;
    if ((type == "text/plain" || type == "text/html") && !is_attachment(object) && !named) {
      body_text(leaf, type);
    } else if (type == "application/pkcs7-mime" || type == "application/x-pkcs7-mime") {
      signed_or_encrypted(leaf, name, depth);
    } else if ((type == "application/ms-tnef" || type == "application/vnd.ms-tnef") &&
               open_winmail(leaf, name)) {
      // What is in it hangs on the mail itself.
    } else if (where == Where::Alternative &&
               (type == "text/x-amp-html" || type == "text/watch-html" ||
                type == "text/enriched")) {
      // The same text again, for programs that nobody reads with.
    } else {
      attach(leaf, type, name, where);
    }
  }

  // False where it is none, or too large to be opened here.
  bool open_winmail(GMimePart* leaf, const std::string& name) {
    if (content_size(leaf) > kOpenedBytesMax) return false;
    const auto bytes = std::make_shared<const std::string>(content_of(leaf, kOpenedBytesMax));
    if (!looks_like_tnef(*bytes)) return false;
    MailMessage inner;
    const auto failure = read_tnef(bytes, inner);
    const bool has_body =
        out_.has_visible(BodyPiece::Kind::Text) || out_.has_visible(BodyPiece::Kind::Html);
    if (!has_body && !inner.html.empty()) out_.body.push_back({BodyPiece::Kind::Html, inner.html});
    if (!has_body && !inner.text.empty()) out_.body.push_back({BodyPiece::Kind::Text, inner.text});
    std::move(inner.attachments.begin(), inner.attachments.end(),
              std::back_inserter(out_.attachments));
    if (failure) {
      out_.attachments.push_back(failed_part(name.empty() ? "winmail.dat" : name, *failure));
    }
    return true;
  }

  void body_text(GMimePart* leaf, const std::string& type) {
    GMimeObject* object = GMIME_OBJECT(leaf);
    const std::string bytes = content_of(leaf, kMailBodyBytesMax);
    if (bytes.size() == kMailBodyBytesMax) {
      std::fprintf(stderr, "the body is cut after %zu bytes\n", bytes.size());
    }
    std::string text = mail_text(bytes, type_parameter(object, "charset"));
    if (type == "text/html") {
      out_.body.push_back({BodyPiece::Kind::Html, std::move(text)});
      return;
    }
    if (type_parameter(object, "format") == "flowed") {
      const bool deletes = type_parameter(object, "delsp") == "yes";
      text = unflowed(text, deletes ? DeleteSpace::Yes : DeleteSpace::No);
    }
    UuText split = split_uuencoded(text);
    out_.body.push_back({BodyPiece::Kind::Text, std::move(split.text)});
    for (UuFile& file : split.files) {
      MailAttachment attachment;
      attachment.name = std::move(file.name);
      attachment.read = [bytes = std::move(file.bytes)](const ByteSink& sink) {
        sink(bytes);
        return std::optional<Failure>();
      };
      out_.attachments.push_back(std::move(attachment));
    }
  }

  void signed_or_encrypted(GMimePart* leaf, const std::string& name, int depth) {
    auto content = signed_content(content_of(leaf, kOpenedBytesMax));
    if (const Failure* failure = std::get_if<Failure>(&content)) {
      out_.attachments.push_back(failed_part(name.empty() ? "smime.p7m" : name, *failure));
      return;
    }
    const std::string& bytes = std::get<std::string>(content);
    const auto stream = g_owned(::g_mime_stream_mem_new_with_buffer(bytes.data(), bytes.size()));
    const auto parser = g_owned(::g_mime_parser_new_with_stream(stream.get()));
    const auto inner = g_owned(::g_mime_parser_construct_part(parser.get(), nullptr));
    if (!inner) {
      out_.attachments.push_back(
          failed_part(name.empty() ? "smime.p7m" : name,
                      {ErrorKind::Corrupt, "its S/MIME envelope holds nothing"}));
      return;
    }
    part(inner.get(), depth + 1, Where::Mixed);
  }

  void attach(GMimePart* leaf, const std::string& type, const std::string& name, Where where) {
    MailAttachment attachment;
    attachment.name = name;
    attachment.mime_type = type;
    attachment.content_id = content_id_of(GMIME_OBJECT(leaf));
    attachment.is_message = type == "message/rfc822";
    const bool shown = where == Where::Related || !attachment.content_id.empty();
    if (shown && !is_attachment(GMIME_OBJECT(leaf))) attachment.hanging = Hanging::Shown;
    attachment.bytes_hint = content_size(leaf);
    attachment.read = [kept = g_shared(leaf)](const ByteSink& sink) {
      read_content(kept.get(), sink);
      return std::optional<Failure>();
    };
    out_.attachments.push_back(std::move(attachment));
  }

  static std::uint64_t content_size(GMimePart* leaf) {
    GMimeDataWrapper* content = ::g_mime_part_get_content(leaf);
    GMimeStream* stream = content != nullptr ? ::g_mime_data_wrapper_get_stream(content) : nullptr;
    return stream != nullptr ? static_cast<std::uint64_t>(::g_mime_stream_length(stream)) : 0;
  }

  WalkState& state_;
  WalkedParts& out_;
};

}  // namespace

bool WalkedParts::has_visible(BodyPiece::Kind kind) const {
  return std::any_of(body.begin(), body.end(), [kind](const BodyPiece& piece) {
    if (piece.kind != kind) return false;
    return kind == BodyPiece::Kind::Html ? !is_blank_html(piece.text) : is_text(piece.text);
  });
}

WalkedParts walk_parts(GMimeObject* root, WalkState& state, int depth) {
  WalkedParts parts;
  Walk(state, parts).part(root, depth, Where::Mixed);
  return parts;
}

void join_body(const std::vector<BodyPiece>& pieces, MailMessage& message) {
  const bool html = std::any_of(pieces.begin(), pieces.end(), [](const BodyPiece& piece) {
    return piece.kind == BodyPiece::Kind::Html;
  });
  for (const BodyPiece& piece : pieces) {
    if (html) {
      message.html += piece.kind == BodyPiece::Kind::Html ? piece.text : html_of_text(piece.text);
    } else {
      if (!message.text.empty()) message.text += message.text.ends_with('\n') ? "\n" : "\n\n";
      message.text += piece.text;
    }
  }
}

}  // namespace quern::worker
