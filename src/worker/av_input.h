// AvInput: a file of sound or film, opened by the FFmpeg libraries.
//
// Only the given descriptor is read, by pread: no protocol is in use, and formats that name other
// files are not among those that are opened. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "worker/step.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswresample/swresample.h>
}

namespace quern::worker {

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

// Stays where it is: the libraries keep its address.
class AvInput {
 public:
  explicit AvInput(const StepInput& input)
      : descriptor_(input.descriptor), size_(static_cast<std::int64_t>(input.bytes)) {}
  AvInput(const AvInput&) = delete;
  AvInput& operator=(const AvInput&) = delete;

  std::optional<Failure> open();
  AVFormatContext* context() const { return context_.get(); }

 private:
  static int read(void* opaque, std::uint8_t* buffer, int size);
  static std::int64_t seek(void* opaque, std::int64_t offset, int whence);

  int descriptor_;
  std::int64_t size_;
  std::int64_t position_ = 0;
  Av<AVIOContext> io_;
  Av<AVFormatContext> context_;
};

// Null where there is none for it.
Av<AVCodecContext> open_decoder(const AVStream& stream);

}  // namespace quern::worker
