#include "worker/av_input.h"

#include <unistd.h>

#include <cerrno>

extern "C" {
#include <libavutil/avstring.h>
#include <libavutil/avutil.h>
}

namespace quern::worker {

using model::ErrorKind;

namespace {

constexpr int kReadBytes = 64 * 1024;
// Formats that are files of sound or film themselves; none that is a list of others.
constexpr char kFormats[] =
    "aac,ac3,aiff,amr,ape,asf,au,avi,caf,dsf,dts,eac3,flac,flv,gsm,matroska,webm,matroska,webm,"
    "mov,mp4,m4a,3gp,3g2,mj2,mov,mp4,m4a,3gp,3g2,mj2,mp3,mpc,mpc8,mpeg,mpegts,mpegvideo,ogg,oma,"
    "rm,shn,swf,tak,tta,voc,vqf,w64,wav,wv,xwma,adts,loas,latm,sox,ircam,iff,nist,ast";

Failure damaged() {
  return {ErrorKind::Corrupt, "the file of sound or film is damaged or cut short"};
}

}  // namespace

int AvInput::read(void* opaque, std::uint8_t* buffer, int size) {
  auto* self = static_cast<AvInput*>(opaque);
  ssize_t n = -1;
  do {
    n = ::pread(self->descriptor_, buffer, static_cast<std::size_t>(size), self->position_);
  } while (n < 0 && errno == EINTR);
  if (n == 0) return AVERROR_EOF;
  if (n < 0) return AVERROR(EIO);
  self->position_ += n;
  return static_cast<int>(n);
}

std::int64_t AvInput::seek(void* opaque, std::int64_t offset, int whence) {
  auto* self = static_cast<AvInput*>(opaque);
  if ((whence & AVSEEK_SIZE) != 0) return self->size_;
  const int from = whence & ~AVSEEK_FORCE;
  const std::int64_t target = from == SEEK_SET   ? offset
                              : from == SEEK_CUR ? self->position_ + offset
                                                 : self->size_ + offset;
  if (target < 0) return AVERROR(EINVAL);
  self->position_ = target;
  return target;
}

std::optional<Failure> AvInput::open() {
  auto* buffer = static_cast<unsigned char*>(::av_malloc(kReadBytes));
  io_.reset(::avio_alloc_context(buffer, kReadBytes, 0, this, read, nullptr, seek));
  const AVInputFormat* format = nullptr;
  if (::av_probe_input_buffer2(io_.get(), &format, "", nullptr, 0, 0) < 0 || format == nullptr ||
      ::av_match_list(format->name, kFormats, ',') <= 0) {
    return Failure{ErrorKind::Unsupported, "this kind of sound or film cannot be read here"};
  }
  AVFormatContext* context = ::avformat_alloc_context();
  context->pb = io_.get();
  context->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
  // Nothing else is ever opened, whatever the file names.
  context->io_open = [](AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) {
    return AVERROR(EPERM);
  };
  if (::avformat_open_input(&context, "", format, nullptr) < 0) return damaged();
  context_.reset(context);
  // Where this fails, tags may still be known.
  static_cast<void>(::avformat_find_stream_info(context, nullptr));
  return context->nb_streams == 0 ? std::optional(damaged()) : std::nullopt;
}

Av<AVCodecContext> open_decoder(const AVStream& stream) {
  const AVCodec* codec = ::avcodec_find_decoder(stream.codecpar->codec_id);
  if (codec == nullptr) return nullptr;
  Av<AVCodecContext> decoder(::avcodec_alloc_context3(codec));
  decoder->thread_count = 1;
  decoder->flags |= AV_CODEC_FLAG_BITEXACT;
  decoder->pkt_timebase = stream.time_base;
  const bool opened = ::avcodec_parameters_to_context(decoder.get(), stream.codecpar) >= 0 &&
                      ::avcodec_open2(decoder.get(), codec, nullptr) >= 0;
  return opened ? std::move(decoder) : nullptr;
}

}  // namespace quern::worker
