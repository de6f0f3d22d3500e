#include "worker/sound_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/utf8.h"
#include "worker/peaks.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/avutil.h>
#include <libavutil/cpu.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>
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

struct Source {
  int descriptor;
  std::int64_t size;
  std::int64_t position = 0;

  static int read(void* opaque, std::uint8_t* buffer, int size) {
    auto* self = static_cast<Source*>(opaque);
    ssize_t n = -1;
    do {
      n = ::pread(self->descriptor, buffer, static_cast<std::size_t>(size), self->position);
    } while (n < 0 && errno == EINTR);
    if (n == 0) return AVERROR_EOF;
    if (n < 0) return AVERROR(EIO);
    self->position += n;
    return static_cast<int>(n);
  }
  static std::int64_t seek(void* opaque, std::int64_t offset, int whence) {
    auto* self = static_cast<Source*>(opaque);
    if ((whence & AVSEEK_SIZE) != 0) return self->size;
    const int from = whence & ~AVSEEK_FORCE;
    const std::int64_t target = from == SEEK_SET   ? offset
                                : from == SEEK_CUR ? self->position + offset
                                                   : self->size + offset;
    if (target < 0) return AVERROR(EINVAL);
    self->position = target;
    return target;
  }
};

struct AvFree {
  void operator()(AVFormatContext* c) const { ::avformat_close_input(&c); }
  void operator()(AVCodecContext* c) const { ::avcodec_free_context(&c); }
  void operator()(AVPacket* p) const { ::av_packet_free(&p); }
  void operator()(AVFrame* f) const { ::av_frame_free(&f); }
  void operator()(SwrContext* s) const { ::swr_free(&s); }
  void operator()(AVIOContext* io) const {
    ::av_freep(&io->buffer);
    ::avio_context_free(&io);
  }
};
template <class T>
using Av = std::unique_ptr<T, AvFree>;

std::string clean(const char* text) {
  std::string result = valid_utf8(text != nullptr ? text : "");
  std::erase(result, '\r');
  while (!result.empty() && static_cast<unsigned char>(result.back()) <= ' ') result.pop_back();
  if (result.size() > kTagBytesMax) {
    result.resize(valid_utf8_prefix(std::string_view(result).substr(0, kTagBytesMax)));
  }
  return result;
}

// "album_artist" as "Album artist".
std::string shown_key(const char* key) {
  std::string name = clean(key);
  std::replace(name.begin(), name.end(), '_', ' ');
  const bool loud =
      std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (i == 0 && c >= 'a' && c <= 'z') name[i] = static_cast<char>(c & ~0x20);
    if (i > 0 && loud && c >= 'A' && c <= 'Z') name[i] = static_cast<char>(c | 0x20);
  }
  return name;
}

void read_tags(const AVDictionary* dictionary, SoundInfo& info) {
  const AVDictionaryEntry* entry = nullptr;
  while ((entry = ::av_dict_get(dictionary, "", entry, AV_DICT_IGNORE_SUFFIX)) != nullptr) {
    const std::string key = shown_key(entry->key);
    const std::string value = clean(entry->value);
    // Private data of programs.
    if (key.starts_with("Id3v2 priv") || value.empty() || info.tags.size() >= kTagsMax) continue;
    const auto same = [&](const auto& tag) { return tag.first == key; };
    if (std::none_of(info.tags.begin(), info.tags.end(), same)) info.tags.emplace_back(key, value);
  }
}

// Subtitles that are letters, not pictures of them.
bool has_words(const AVStream& stream) {
  const AVCodecDescriptor* codec = ::avcodec_descriptor_get(stream.codecpar->codec_id);
  return codec != nullptr && codec->type == AVMEDIA_TYPE_SUBTITLE &&
         (codec->props & AV_CODEC_PROP_TEXT_SUB) != 0;
}

// FFmpeg gives each as "number,layer,style,name,left,right,vertical,effect,words", with {tags} and
// \N for line ends in the words.
std::string words_of_event(std::string_view event) {
  for (int comma = 0; comma < 8; ++comma) {
    const std::size_t at = event.find(',');
    if (at == std::string_view::npos) return "";
    event.remove_prefix(at + 1);
  }
  std::string words;
  bool in_tag = false;
  for (std::size_t i = 0; i < event.size(); ++i) {
    const char c = event[i];
    if (c == '{') in_tag = true;
    const bool line_end = c == '\\' && i + 1 < event.size() && (event[i + 1] | 0x20) == 'n';
    if (!in_tag) words += line_end || c == '\n' ? ' ' : c;
    if (!in_tag && line_end) ++i;
    if (c == '}') in_tag = false;
  }
  return words;
}

class SoundReader {
 public:
  SoundReader(const StepInput& input, SoundInfo& info)
      : source_{input.descriptor, static_cast<std::int64_t>(input.bytes)}, info_(info) {}

  std::optional<Failure> read() {
    if (auto failure = open()) return failure;
    describe();
    if (track_ != nullptr) decoder_ = open_decoder(*track_);
    if (words_ != nullptr) words_decoder_ = open_decoder(*words_);
    if (decoder_ || words_decoder_) decode();
    return std::nullopt;
  }

 private:
  std::optional<Failure> open() {
    auto* buffer = static_cast<unsigned char*>(::av_malloc(kReadBytes));
    io_.reset(
        ::avio_alloc_context(buffer, kReadBytes, 0, &source_, Source::read, nullptr, Source::seek));
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

  static Failure damaged() {
    return {ErrorKind::Corrupt, "the file of sound or film is damaged or cut short"};
  }

  void describe() {
    const AVFormatContext& context = *context_;
    info_.format =
        context.iformat->long_name != nullptr ? context.iformat->long_name : context.iformat->name;
    if (context.duration > 0) info_.duration_s = double(context.duration) / AV_TIME_BASE;
    info_.bits_per_second = std::max<std::int64_t>(context.bit_rate, 0);
    read_tags(context.metadata, info_);
    const int best = ::av_find_best_stream(context_.get(), AVMEDIA_TYPE_AUDIO, -1, -1, nullptr, 0);
    for (unsigned i = 0; i < context.nb_streams; ++i) {
      AVStream* stream = context.streams[i];
      if (static_cast<int>(i) == best) track_ = stream;
      if (words_ == nullptr && has_words(*stream)) words_ = stream;
      const bool wanted = stream == track_ || stream == words_;
      stream->discard = wanted ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
      if (stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO) describe_picture(*stream);
    }
    if (track_ != nullptr) describe_track();
    for (unsigned i = 0; i < std::min<std::size_t>(context.nb_chapters, kChaptersMax); ++i) {
      const AVChapter& chapter = *context.chapters[i];
      const AVDictionaryEntry* title = ::av_dict_get(chapter.metadata, "title", nullptr, 0);
      info_.chapters.push_back({double(chapter.start) * ::av_q2d(chapter.time_base),
                                clean(title != nullptr ? title->value : "")});
    }
  }

  void describe_picture(const AVStream& stream) {
    if ((stream.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0) {
      ++info_.pictures;
    } else if (info_.video.empty()) {
      info_.video = fmt::format("{}, {} x {}", ::avcodec_get_name(stream.codecpar->codec_id),
                                stream.codecpar->width, stream.codecpar->height);
    }
  }

  void describe_track() {
    const AVCodecParameters& parameters = *track_->codecpar;
    info_.codec = ::avcodec_get_name(parameters.codec_id);
    info_.samples_per_second = std::max(parameters.sample_rate, 0);
    info_.channels = std::max(parameters.ch_layout.nb_channels, 0);
    read_tags(track_->metadata, info_);
  }

  static Av<AVCodecContext> open_decoder(const AVStream& stream) {
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

  void decode() {
    const Av<AVPacket> packet(::av_packet_alloc());
    while (!info_.was_cut && ::av_read_frame(context_.get(), packet.get()) >= 0) {
      if (decoder_ && packet->stream_index == track_->index) {
        if (::avcodec_send_packet(decoder_.get(), packet.get()) < 0) ++info_.damaged;
        take_frames();
      } else if (words_decoder_ && packet->stream_index == words_->index) {
        take_words(*packet);
      }
      ::av_packet_unref(packet.get());
    }
    if (!decoder_) return;
    ::avcodec_send_packet(decoder_.get(), nullptr);
    take_frames();
    info_.peaks = peaks_.finish();
    // Where the file does not say how long it is, or lies.
    if (info_.duration_s <= 0 && seconds_ > 0) info_.duration_s = seconds_;
  }

  void take_words(AVPacket& packet) {
    AVSubtitle subtitle{};
    int got = 0;
    if (::avcodec_decode_subtitle2(words_decoder_.get(), &subtitle, &got, &packet) < 0 ||
        got == 0) {
      return;
    }
    for (unsigned i = 0; i < subtitle.num_rects; ++i) {
      const AVSubtitleRect& rect = *subtitle.rects[i];
      const char* text = rect.ass != nullptr ? rect.ass : rect.text;
      const std::string words = text != nullptr ? words_of_event(clean(text)) : "";
      if (words.empty() || info_.subtitles.size() >= kSubtitlesMax) continue;
      info_.subtitles.push_back({double(packet.pts) * ::av_q2d(words_->time_base), words});
    }
    ::avsubtitle_free(&subtitle);
  }

  void take_frames() {
    const Av<AVFrame> frame(::av_frame_alloc());
    while (::avcodec_receive_frame(decoder_.get(), frame.get()) >= 0) {
      add_samples(*frame);
      ::av_frame_unref(frame.get());
    }
  }

  // All channels as one, numbers between -1 and 1.
  void add_samples(AVFrame& frame) {
    if (frame.sample_rate <= 0 || frame.nb_samples <= 0 || !prepare(frame)) return;
    std::vector<float> samples(static_cast<std::size_t>(frame.nb_samples) + 256);
    auto* out = reinterpret_cast<std::uint8_t*>(samples.data());
    const int made =
        ::swr_convert(mixer_.get(), &out, static_cast<int>(samples.size()),
                      const_cast<const std::uint8_t**>(frame.extended_data), frame.nb_samples);
    for (int i = 0; i < made; ++i) peaks_.add(samples[static_cast<std::size_t>(i)]);
    seconds_ += double(frame.nb_samples) / frame.sample_rate;
    info_.was_cut = seconds_ >= kDecodedSecondsMax;
  }

  // A file may change its form on the way.
  bool prepare(AVFrame& frame) {
    const bool same = mixer_ && mixer_format_ == frame.format && mixer_rate_ == frame.sample_rate &&
                      mixer_channels_ == frame.ch_layout.nb_channels;
    if (same) return true;
    if (frame.ch_layout.order == AV_CHANNEL_ORDER_UNSPEC) {
      ::av_channel_layout_default(&frame.ch_layout, frame.ch_layout.nb_channels);
    }
    AVChannelLayout mono = AV_CHANNEL_LAYOUT_MONO;
    SwrContext* mixer = nullptr;
    ::swr_alloc_set_opts2(&mixer, &mono, AV_SAMPLE_FMT_FLT, frame.sample_rate, &frame.ch_layout,
                          static_cast<AVSampleFormat>(frame.format), frame.sample_rate, 0, nullptr);
    mixer_.reset(mixer);
    if (mixer == nullptr || ::swr_init(mixer) < 0) {
      mixer_.reset();
      return false;
    }
    mixer_format_ = frame.format;
    mixer_rate_ = frame.sample_rate;
    mixer_channels_ = frame.ch_layout.nb_channels;
    return true;
  }

  Source source_;
  SoundInfo& info_;
  Av<AVIOContext> io_;
  Av<AVFormatContext> context_;
  Av<AVCodecContext> decoder_;
  Av<SwrContext> mixer_;
  Av<AVCodecContext> words_decoder_;
  AVStream* track_ = nullptr;
  AVStream* words_ = nullptr;  // subtitles
  Peaks peaks_{kPeaksMax};
  double seconds_ = 0;
  int mixer_format_ = 0;
  int mixer_rate_ = 0;
  int mixer_channels_ = 0;
};

}  // namespace

void warm_sound() {
  ::av_force_cpu_flags(0);
  // What it prints has addresses of its memory in it, which are never the same.
  ::av_log_set_level(AV_LOG_QUIET);
}

std::string sound_version() {
  return fmt::format("ffmpeg {}", ::av_version_info());
}

std::optional<Failure> read_sound(const StepInput& input, SoundInfo& info) {
  return SoundReader(input, info).read();
}

}  // namespace quern::worker
