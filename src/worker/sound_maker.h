// Files of sound for tests and benchmarks, made by the FFmpeg libraries. Not for the programs.
#pragma once

#include <string>
#include <vector>

#include "base/check.h"
#include "sound/made_sound.h"
#include "sound/speed.h"
#include "worker/av_input.h"

extern "C" {
#include <libavutil/opt.h>
}

namespace quern::worker {

struct SoundForm {
  const char* codec = "pcm_s16le";
  const char* format = "wav";
  int rate = sound::kRate;
  std::int64_t bits_per_second = 0;
};

// At another rate, as long as before.
inline sound::Samples at_rate(const sound::Samples& samples, int rate) {
  return sound::at_speed(samples, double(sound::kRate) / rate);
}

namespace made {

inline AVSampleFormat wanted_format(const AVCodec& codec) {
  for (const AVSampleFormat* one = codec.sample_fmts; one != nullptr && *one != -1; ++one) {
    if (*one == AV_SAMPLE_FMT_FLTP || *one == AV_SAMPLE_FMT_FLT) return *one;
  }
  return codec.sample_fmts[0];
}

inline void drain(AVCodecContext* encoder, AVFormatContext* file, const AVFrame* frame) {
  CHECK(::avcodec_send_frame(encoder, frame) >= 0);
  const Av<AVPacket> packet(::av_packet_alloc());
  while (::avcodec_receive_packet(encoder, packet.get()) >= 0) {
    ::av_packet_rescale_ts(packet.get(), encoder->time_base, file->streams[0]->time_base);
    CHECK(::av_write_frame(file, packet.get()) >= 0);
  }
}

inline Av<AVCodecContext> open_encoder(const SoundForm& form, int channels, bool global_header) {
  const AVCodec* codec = ::avcodec_find_encoder_by_name(form.codec);
  CHECK(codec != nullptr);
  Av<AVCodecContext> encoder(::avcodec_alloc_context3(codec));
  encoder->sample_fmt = wanted_format(*codec);
  encoder->sample_rate = form.rate;
  encoder->time_base = {1, form.rate};
  encoder->bit_rate = form.bits_per_second;
  encoder->thread_count = 1;
  ::av_channel_layout_default(&encoder->ch_layout, channels);
  if (global_header) encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  CHECK(::avcodec_open2(encoder.get(), codec, nullptr) >= 0);
  return encoder;
}

// All frames of the channels, through a converter to what the encoder takes.
inline void encode(AVCodecContext* encoder, AVFormatContext* file,
                   const std::vector<sound::Samples>& channels) {
  SwrContext* raw = nullptr;
  ::swr_alloc_set_opts2(&raw, &encoder->ch_layout, encoder->sample_fmt, encoder->sample_rate,
                        &encoder->ch_layout, AV_SAMPLE_FMT_FLTP, encoder->sample_rate, 0, nullptr);
  const Av<SwrContext> converter(raw);
  CHECK(::swr_init(raw) >= 0);
  const std::size_t size = encoder->frame_size > 0 ? std::size_t(encoder->frame_size) : 1024;
  for (std::size_t at = 0; at < channels[0].size(); at += size) {
    const std::size_t count = std::min(size, channels[0].size() - at);
    const Av<AVFrame> frame(::av_frame_alloc());
    frame->nb_samples = static_cast<int>(count);
    frame->format = encoder->sample_fmt;
    frame->sample_rate = encoder->sample_rate;
    frame->pts = static_cast<std::int64_t>(at);
    CHECK(::av_channel_layout_copy(&frame->ch_layout, &encoder->ch_layout) >= 0);
    CHECK(::av_frame_get_buffer(frame.get(), 0) >= 0);
    std::vector<const std::uint8_t*> planes;
    for (const auto& channel : channels) {
      planes.push_back(reinterpret_cast<const std::uint8_t*>(channel.data() + at));
    }
    CHECK(::swr_convert(raw, frame->extended_data, int(count), planes.data(), int(count)) >= 0);
    drain(encoder, file, frame.get());
  }
  drain(encoder, file, nullptr);
}

}  // namespace made

// The bytes of a file; channels are at the form's rate.
inline std::string make_sound(const SoundForm& form, const std::vector<sound::Samples>& channels) {
  AVFormatContext* file = nullptr;
  CHECK(::avformat_alloc_output_context2(&file, nullptr, form.format, nullptr) >= 0);
  file->flags |= AVFMT_FLAG_BITEXACT;
  const bool global = (file->oformat->flags & AVFMT_GLOBALHEADER) != 0;
  const Av<AVCodecContext> encoder =
      made::open_encoder(form, static_cast<int>(channels.size()), global);
  AVStream* stream = ::avformat_new_stream(file, nullptr);
  stream->time_base = encoder->time_base;
  CHECK(::avcodec_parameters_from_context(stream->codecpar, encoder.get()) >= 0);
  CHECK(::avio_open_dyn_buf(&file->pb) >= 0);
  CHECK(::avformat_write_header(file, nullptr) >= 0);
  made::encode(encoder.get(), file, channels);
  CHECK(::av_write_trailer(file) >= 0);
  std::uint8_t* bytes = nullptr;
  const int size = ::avio_close_dyn_buf(file->pb, &bytes);
  std::string result(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  ::av_free(bytes);
  ::avformat_free_context(file);
  return result;
}

}  // namespace quern::worker
