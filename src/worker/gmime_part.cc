#include "worker/gmime_part.h"

#include <algorithm>
#include <cctype>

#include "base/utf8.h"
#include "worker/charset.h"
#include "worker/text_decode.h"

namespace quern::worker {
namespace {

constexpr std::size_t kFlushBytes = 16;  // what a decoder may still hold
constexpr std::size_t kPieceBytes = 64 * 1024;

std::string text_or_empty(const char* text) {
  return text != nullptr ? text : "";
}

// A stream that only takes bytes.
struct SinkStream {
  GMimeStream parent;
  const ByteSink* sink;
};
struct SinkStreamClass {
  GMimeStreamClass parent_class;
};

ssize_t sink_write(GMimeStream* stream, const char* bytes, std::size_t size) {
  (*reinterpret_cast<SinkStream*>(stream)->sink)({bytes, size});
  stream->position += static_cast<gint64>(size);
  return static_cast<ssize_t>(size);
}

void sink_class_init(gpointer type_class, gpointer) {
  auto* streams = static_cast<GMimeStreamClass*>(type_class);
  streams->write = sink_write;
  streams->flush = [](GMimeStream*) { return 0; };
  streams->close = [](GMimeStream*) { return 0; };
}

GType sink_stream_type() {
  static const GType type =
      g_type_register_static_simple(GMIME_TYPE_STREAM, "QuernSinkStream", sizeof(SinkStreamClass),
                                    sink_class_init, sizeof(SinkStream), nullptr, GTypeFlags(0));
  return type;
}

bool names_ascii_or_latin(std::string charset) {
  std::transform(charset.begin(), charset.end(), charset.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return charset == "us-ascii" || charset == "ascii" || charset == "iso-8859-1" ||
         charset == "latin1" || charset == "windows-1252";
}

std::string with_plain_line_ends(std::string text) {
  std::erase(text, '\r');
  return text;
}

// GMime takes two bytes before a boundary for its line end wherever the line before it had two.
// Where lines end in both ways, the first of them is the content's: "x\n--cut" behind "y\r\n".
GOwned<GMimeStream> whole_content(GMimeStream* content) {
  GMimeStream* all = content->super_stream != nullptr ? content->super_stream : content;
  const gint64 end = content->bound_end;
  char behind[4] = {};
  const auto rest = g_owned(::g_mime_stream_substream(all, end, end + 4));
  if (end >= 0 && rest && ::g_mime_stream_reset(rest.get()) == 0 &&
      ::g_mime_stream_read(rest.get(), behind, sizeof behind) == sizeof behind &&
      behind[0] != '\r' && behind[0] != '\n' && std::string_view(behind + 1, 3) == "\n--") {
    return g_owned(::g_mime_stream_substream(all, content->bound_start, end + 1));
  }
  return g_shared(content);
}

// How many signs of base64 are missing at the end: senders leave them out, and without them the
// last bytes would be lost.
class MissingPadding {
 public:
  void see(std::string_view text) {
    signs_ += static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/' || c == '=';
    }));
  }
  // One sign alone says nothing.
  std::string_view text() const {
    constexpr std::string_view kPadding[] = {"", "", "==", "="};
    return kPadding[signs_ % 4];
  }

 private:
  std::size_t signs_ = 0;
};

}  // namespace

std::string mime_type_of(GMimeObject* object) {
  GMimeContentType* type = ::g_mime_object_get_content_type(object);
  if (type == nullptr) return "text/plain";
  std::string name = text_or_empty(::g_mime_content_type_get_media_type(type)) + "/" +
                     text_or_empty(::g_mime_content_type_get_media_subtype(type));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

std::string type_parameter(GMimeObject* object, const char* name) {
  GMimeContentType* type = ::g_mime_object_get_content_type(object);
  return type != nullptr ? text_or_empty(::g_mime_content_type_get_parameter(type, name)) : "";
}

std::string filename_of(GMimeObject* object) {
  std::string name =
      text_or_empty(::g_mime_object_get_content_disposition_parameter(object, "filename"));
  return name.empty() ? type_parameter(object, "name") : name;
}

bool is_attachment(GMimeObject* object) {
  GMimeContentDisposition* disposition = ::g_mime_object_get_content_disposition(object);
  return disposition != nullptr && ::g_mime_content_disposition_is_attachment(disposition);
}

std::string content_id_of(GMimeObject* object) {
  return text_or_empty(::g_mime_object_get_content_id(object));
}

void read_content(GMimePart* part, const ByteSink& sink) {
  GMimeDataWrapper* content = ::g_mime_part_get_content(part);
  if (content == nullptr) return;
  GMimeStream* cut = ::g_mime_data_wrapper_get_stream(content);
  if (cut == nullptr) return;
  const auto owned = whole_content(cut);
  GMimeStream* stream = owned.get();
  if (::g_mime_stream_reset(stream) != 0) return;
  GMimeEncoding state;
  ::g_mime_encoding_init_decode(&state, ::g_mime_data_wrapper_get_encoding(content));
  std::string in(kPieceBytes, '\0');
  std::string out;
  MissingPadding missing;
  const auto step = [&](std::string_view piece) {
    out.resize(::g_mime_encoding_outlen(&state, piece.size()) + kFlushBytes);
    sink({out.data(), ::g_mime_encoding_step(&state, piece.data(), piece.size(), out.data())});
  };
  for (;;) {
    const ssize_t n = ::g_mime_stream_read(stream, in.data(), in.size());
    if (n <= 0) break;
    const std::string_view piece(in.data(), static_cast<std::size_t>(n));
    missing.see(piece);
    step(piece);
  }
  if (state.encoding == GMIME_CONTENT_ENCODING_BASE64) step(missing.text());
  out.resize(::g_mime_encoding_outlen(&state, 0) + kFlushBytes);
  const std::size_t made = ::g_mime_encoding_flush(&state, in.data(), 0, out.data());
  if (made > 0) sink({out.data(), made});
}

std::string content_of(GMimePart* part, std::size_t bytes_max) {
  std::string bytes;
  read_content(part, [&](std::string_view piece) {
    bytes += piece.substr(0, bytes_max - std::min(bytes_max, bytes.size()));
  });
  return bytes;
}

void write_object(GMimeObject* object, const ByteSink& sink) {
  const auto stream =
      g_owned(static_cast<GMimeStream*>(::g_object_new(sink_stream_type(), nullptr)));
  ::g_mime_stream_construct(stream.get(), 0, -1);
  reinterpret_cast<SinkStream*>(stream.get())->sink = &sink;
  ::g_mime_object_write_to_stream(object, nullptr, stream.get());
}

std::string mail_text(std::string_view bytes, const std::string& charset) {
  const bool seven_bits = std::none_of(
      bytes.begin(), bytes.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  // Many a mail says Latin where it is UTF-8; the other way round is as good as impossible.
  const bool believed =
      !charset.empty() && !(names_ascii_or_latin(charset) && (seven_bits || is_valid_utf8(bytes)));
  if (believed) {
    const std::string name = names_ascii_or_latin(charset)
                                 ? "WINDOWS-1252"
                                 : ::g_mime_charset_iconv_name(charset.c_str());
    if (auto text = to_utf8(bytes, name)) {
      const bool whole = text->find("\xEF\xBF\xBD") == std::string::npos;
      if (whole || !is_valid_utf8(bytes)) return with_plain_line_ends(valid_utf8(*text));
    }
  }
  return decode_text(bytes, bytes.size()).text;
}

}  // namespace quern::worker
