#include "worker/sound_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "worker/av_input.h"
#include "worker/peaks.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/cpu.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>
}

namespace quern::worker {

using model::ErrorKind;

namespace {

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
  SoundReader(const StepInput& input, SoundInfo& info) : input_(input), info_(info) {}

  std::optional<Failure> read() {
    if (auto failure = input_.open()) return failure;
    describe();
    if (track_ != nullptr) decoder_ = open_decoder(*track_);
    if (words_ != nullptr) words_decoder_ = open_decoder(*words_);
    if (decoder_ || words_decoder_) decode();
    return std::nullopt;
  }

 private:
  void describe() {
    const AVFormatContext& context = *input_.context();
    info_.format =
        context.iformat->long_name != nullptr ? context.iformat->long_name : context.iformat->name;
    if (context.duration > 0) info_.duration_s = double(context.duration) / AV_TIME_BASE;
    info_.bits_per_second = std::max<std::int64_t>(context.bit_rate, 0);
    read_tags(context.metadata, info_);
    const int best =
        ::av_find_best_stream(input_.context(), AVMEDIA_TYPE_AUDIO, -1, -1, nullptr, 0);
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

  void decode() {
    const Av<AVPacket> packet(::av_packet_alloc());
    while (!info_.was_cut && ::av_read_frame(input_.context(), packet.get()) >= 0) {
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

  AvInput input_;
  SoundInfo& info_;
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
