#include "worker/sound_source.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "worker/av_input.h"

namespace quern::worker {

using sound::kRate;

namespace {

// Before a place that is jumped to, this much is decoded: decoders and resampler have settled then.
constexpr std::int64_t kPreroll = kRate;
// What is ahead by less than this is read, not jumped to.
constexpr std::int64_t kReadAhead = 15LL * kRate;
// Timestamps that are off by less are rounding; where something was damaged just before, half a
// frame is enough.
constexpr double kGapSeconds = 0.1;
// A gap above this is a lie of the file.
constexpr double kGapSecondsMax = 3600;
// So much is looked at to tell whether channels cancel each other.
constexpr double kMixSeconds = 30;
constexpr double kCanceled = 0.01;
constexpr int kChannelsMax = 64;

// Formats whose timestamps are exact behind a jump.
bool seeks_exactly(const AVFormatContext& context, const AVStream& stream) {
  const std::string_view name = context.iformat->name;
  const bool known = name == "mp3" || name == "flac" || name == "wav" || name == "w64" ||
                     name == "aiff" || name == "au" || name.starts_with("mov,");
  return known && stream.codecpar->sample_rate > 0 &&
         ::av_q2d(stream.time_base) * stream.codecpar->sample_rate < 1.01;
}

// Their decoder (libavcodec 59) says the old rate of the first frame that has a new one.
bool is_mpeg_audio(const AVCodecContext& decoder) {
  return decoder.codec_id == AV_CODEC_ID_MP3 || decoder.codec_id == AV_CODEC_ID_MP2 ||
         decoder.codec_id == AV_CODEC_ID_MP1;
}

Error unreadable(const std::string& why) {
  return {Errc::Invalid, "the sound cannot be read: " + why};
}

class FileSource final : public SoundSource {
 public:
  explicit FileSource(const StepInput& input) : input_(input) {}

  Result<> begin() {
    TRY(open());
    TRY_ASSIGN(const bool any, decode_more());
    if (!any && ready_.empty()) return unreadable("nothing in it can be decoded");
    if (frame_channels_ > 1) TRY(choose_mix());
    return {};
  }

  Result<std::size_t> read(std::span<float> samples) override {
    std::size_t count = 0;
    while (count < samples.size()) {
      const std::int64_t behind = ready_at_ + static_cast<std::int64_t>(ready_.size());
      if (cursor_ < behind) {
        const auto from = static_cast<std::size_t>(cursor_ - ready_at_);
        const std::size_t some = std::min(samples.size() - count, ready_.size() - from);
        std::copy_n(ready_.begin() + static_cast<std::ptrdiff_t>(from), some,
                    samples.begin() + static_cast<std::ptrdiff_t>(count));
        count += some;
        cursor_ += static_cast<std::int64_t>(some);
        continue;
      }
      if (ended_) break;
      ready_.clear();
      ready_at_ = behind;
      TRY(decode_more());
    }
    return count;
  }

  Result<> seek(std::int64_t sample) override {
    const std::int64_t behind = ready_at_ + static_cast<std::int64_t>(ready_.size());
    const bool near = sample >= ready_at_ && sample <= behind + kReadAhead;
    if (!near) TRY(jump(sample));
    cursor_ = sample;
    // Read up to there.
    while (ready_at_ + static_cast<std::int64_t>(ready_.size()) <= cursor_ && !ended_) {
      ready_at_ += static_cast<std::int64_t>(ready_.size());
      ready_.clear();
      TRY(decode_more());
    }
    return {};
  }

 private:
  // From the first sample on.
  Result<> open() {
    decoder_.reset();
    mixer_.reset();
    av_ = std::make_unique<AvInput>(input_);
    if (const auto failure = av_->open())
      return unreadable(failure->message + "; add a whole copy");
    AVFormatContext* context = av_->context();
    const int best = ::av_find_best_stream(context, AVMEDIA_TYPE_AUDIO, -1, -1, nullptr, 0);
    if (best < 0) return unreadable("the file has no sound track");
    for (unsigned i = 0; i < context->nb_streams; ++i) {
      const bool wanted = static_cast<int>(i) == best;
      context->streams[i]->discard = wanted ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
    }
    track_ = context->streams[best];
    decoder_ = open_decoder(*track_);
    if (!decoder_) return unreadable("its codec is not known here");
    start_over();
    place_ = Place::Beginning;
    return {};
  }

  void start_over() {
    mixer_.reset();
    ready_.clear();
    ready_at_ = cursor_ = segment_ = 0;
    segment_in_ = 0;
    rate_ = 0;
    ended_ = draining_ = was_damaged_ = false;
  }

  Result<> jump(std::int64_t sample) {
    const std::int64_t target = sample - kPreroll;
    if (target <= 0 || rate_changes_ || !seeks_exactly(*av_->context(), *track_)) return open();
    const double seconds = double(target) / kRate;
    const auto timestamp =
        origin_ + static_cast<std::int64_t>(seconds / ::av_q2d(track_->time_base));
    if (::av_seek_frame(av_->context(), track_->index, timestamp, AVSEEK_FLAG_BACKWARD) < 0) {
      return open();
    }
    ::avcodec_flush_buffers(decoder_.get());
    start_over();
    place_ = Place::Jumped;
    while (ready_.empty() && !ended_) TRY(decode_more());
    // Not where we wanted to be, or timestamps are not to be trusted: the long way.
    const bool short_of_it =
        !rate_changes_ && !ready_.empty() && ready_at_ <= sample - kPreroll / 2;
    return short_of_it ? Result<>() : open();
  }

  // One frame more, or the end; whether it was a frame.
  Result<bool> decode_more() {
    const Av<AVFrame> frame(::av_frame_alloc());
    const Av<AVPacket> packet(::av_packet_alloc());
    while (!ended_) {
      const int got = ::avcodec_receive_frame(decoder_.get(), frame.get());
      if (got >= 0) {
        if ((frame->flags & AV_FRAME_FLAG_CORRUPT) != 0) was_damaged_ = true;
        if (is_mpeg_audio(*decoder_)) frame->sample_rate = decoder_->sample_rate;
        if (take(*frame)) return true;
        continue;
      }
      if (got == AVERROR_EOF || draining_) {
        finish_segment(INT64_MAX);
        ended_ = true;
      } else if (got == AVERROR(EAGAIN)) {
        feed(*packet);
      } else {
        was_damaged_ = true;
        feed(*packet);
      }
    }
    return false;
  }

  // The next packet to the decoder.
  void feed(AVPacket& packet) {
    while (::av_read_frame(av_->context(), &packet) >= 0) {
      const bool ours = packet.stream_index == track_->index;
      if (ours && ::avcodec_send_packet(decoder_.get(), &packet) < 0) was_damaged_ = true;
      ::av_packet_unref(&packet);
      if (ours) return;
    }
    draining_ = ::avcodec_send_packet(decoder_.get(), nullptr) < 0;
  }

  // Seconds from the file's first sample on; where the file tells no time, what was counted.
  double time_of(const AVFrame& frame, double counted) const {
    const std::int64_t stamp = frame.best_effort_timestamp;
    if (stamp == AV_NOPTS_VALUE || origin_ == AV_NOPTS_VALUE) return counted;
    return double(stamp - origin_) * ::av_q2d(track_->time_base);
  }

  bool take(AVFrame& frame) {
    if (frame.sample_rate <= 0 || frame.nb_samples <= 0) return false;
    if (frame.ch_layout.nb_channels < 1 || frame.ch_layout.nb_channels > kChannelsMax) return false;
    frame_channels_ = frame.ch_layout.nb_channels;
    if (place_ != Place::Beginning && frame.sample_rate != first_rate_) rate_changes_ = true;
    int skip = 0;
    if (place_ == Place::Beginning) {
      origin_ = frame.best_effort_timestamp;
      first_rate_ = frame.sample_rate;
      place_ = Place::Within;
    } else if (place_ == Place::Jumped) {
      // On a sample that both rates have, so that samples fall where they do without the jump.
      const auto at = std::llround(time_of(frame, 0) * frame.sample_rate);
      while ((at + skip) * kRate % frame.sample_rate != 0) ++skip;
      if (skip >= frame.nb_samples) return false;
      segment_ = (at + skip) * kRate / frame.sample_rate;
      ready_at_ = cursor_ = segment_;
      place_ = Place::Within;
    }
    return convert(frame, skip);
  }

  bool convert(AVFrame& frame, int skip) {
    const double counted =
        double(segment_) / kRate + (rate_ > 0 ? double(segment_in_) / rate_ : 0.0);
    const double gap = time_of(frame, counted) - counted - double(skip) / frame.sample_rate;
    const double half_frame = 0.5 * frame.nb_samples / frame.sample_rate;
    const bool is_gap = gap > (was_damaged_ ? half_frame : kGapSeconds) && gap < kGapSecondsMax;
    was_damaged_ = false;
    if (is_gap || !is_same_form(frame)) {
      const auto next = std::llround((counted + (is_gap ? gap : 0)) * kRate);
      finish_segment(next);
      if (!begin_segment(frame, next)) return false;
    }
    return mix(frame, skip);
  }

  bool is_same_form(const AVFrame& frame) const {
    return mixer_ && rate_ == frame.sample_rate && format_ == frame.format &&
           channels_ == frame.ch_layout.nb_channels;
  }

  // What the resampler still holds; then up to the next segment, no more and no less.
  void finish_segment(std::int64_t next) {
    if (mixer_) pull(nullptr, 0);
    mixer_.reset();
    if (next == INT64_MAX) return;
    ready_.resize(static_cast<std::size_t>(std::max<std::int64_t>(next - ready_at_, 0)), 0.0F);
  }

  bool begin_segment(AVFrame& frame, std::int64_t at) {
    segment_ = at;
    segment_in_ = 0;
    rate_ = frame.sample_rate;
    format_ = frame.format;
    channels_ = frame.ch_layout.nb_channels;
    AVChannelLayout mono = AV_CHANNEL_LAYOUT_MONO, layout{};
    ::av_channel_layout_default(&layout, channels_);
    SwrContext* mixer = nullptr;
    ::swr_alloc_set_opts2(&mixer, &mono, AV_SAMPLE_FMT_FLT, kRate, &layout,
                          static_cast<AVSampleFormat>(frame.format), frame.sample_rate, 0, nullptr);
    mixer_.reset(mixer);
    std::vector<double> weights(static_cast<std::size_t>(channels_), 1.0 / channels_);
    if (loudest_ >= 0 && loudest_ < channels_) {
      weights.assign(weights.size(), 0);
      weights[static_cast<std::size_t>(loudest_)] = 1;
    }
    if (mixer == nullptr || ::swr_set_matrix(mixer, weights.data(), channels_) < 0 ||
        ::swr_init(mixer) < 0) {
      mixer_.reset();
    }
    return mixer_ != nullptr;
  }

  bool mix(AVFrame& frame, int skip) {
    const auto format = static_cast<AVSampleFormat>(frame.format);
    const bool planar = ::av_sample_fmt_is_planar(format) != 0;
    const int step = ::av_get_bytes_per_sample(format) * (planar ? 1 : channels_);
    const std::uint8_t* planes[kChannelsMax] = {};
    for (int i = 0; i < (planar ? channels_ : 1); ++i) {
      planes[i] = frame.extended_data[i] + static_cast<std::ptrdiff_t>(skip) * step;
    }
    const int count = frame.nb_samples - skip;
    segment_in_ += count;
    pull(planes, count);
    return true;
  }

  void pull(const std::uint8_t** planes, int count) {
    const int room = ::swr_get_out_samples(mixer_.get(), count) + 64;
    const std::size_t had = ready_.size();
    ready_.resize(had + static_cast<std::size_t>(room));
    auto* out = reinterpret_cast<std::uint8_t*>(ready_.data() + had);
    const int made = ::swr_convert(mixer_.get(), &out, room, planes, count);
    ready_.resize(had + static_cast<std::size_t>(std::max(made, 0)));
  }

  // Where the channels cancel each other, the loudest of them is taken alone. From the file's
  // beginning, so that it is the same for every read of it.
  Result<> choose_mix() {
    TRY(open());
    std::vector<double> alone(static_cast<std::size_t>(frame_channels_));
    double together = 0;
    for (int pass = -1; pass < frame_channels_ && pass < 8; ++pass) {
      loudest_ = pass;
      TRY(open());
      double energy = 0;
      std::int64_t heard = 0;
      while (heard < std::int64_t(kMixSeconds * kRate) && !ended_) {
        TRY(decode_more());
        for (const float sample : ready_) energy += double(sample) * sample;
        heard += static_cast<std::int64_t>(ready_.size());
        ready_at_ += static_cast<std::int64_t>(ready_.size());
        ready_.clear();
      }
      (pass < 0 ? together : alone[static_cast<std::size_t>(pass)]) = energy;
    }
    const auto most = std::max_element(alone.begin(), alone.end());
    loudest_ = together < kCanceled * *most ? static_cast<int>(most - alone.begin()) : -1;
    return open();
  }

  enum class Place { Beginning, Jumped, Within };

  StepInput input_;
  std::unique_ptr<AvInput> av_;
  AVStream* track_ = nullptr;
  Av<AVCodecContext> decoder_;
  Av<SwrContext> mixer_;
  int rate_ = 0, format_ = 0, channels_ = 0;  // of the mixer
  int frame_channels_ = 0, first_rate_ = 0;
  bool rate_changes_ = false;  // seen so far; then timestamps of plain streams are off
  int loudest_ = -1;           // the channel that is taken alone
  Place place_ = Place::Beginning;
  std::int64_t origin_ = AV_NOPTS_VALUE;  // timestamp of the first sample
  std::int64_t segment_ = 0;              // where the mixer's first sample is
  std::int64_t segment_in_ = 0;           // what it was given, at its rate
  std::vector<float> ready_;              // from ready_at_ on
  std::int64_t ready_at_ = 0, cursor_ = 0;
  bool ended_ = false, draining_ = false, was_damaged_ = false;
};

}  // namespace

Result<std::unique_ptr<SoundSource>> SoundSource::open(const StepInput& input) {
  auto source = std::make_unique<FileSource>(input);
  TRY(source->begin());
  return std::unique_ptr<SoundSource>(std::move(source));
}

}  // namespace quern::worker
