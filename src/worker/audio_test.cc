// The Audio step: tags, chapters, the shape of a sound; files made here, byte by byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "worker/peaks.h"
#include "worker/sound_document.h"
#include "worker/step_children.h"
#include "worker/steps.h"
#include "worker/tnef_maker.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

namespace quern::worker {
namespace {

using model::ErrorKind;
using ::testing::HasSubstr;

StepRun hear(const std::string& name, const std::string& bytes) {
  static const bool warmed = (audio_step().warm(), true);
  EXPECT_TRUE(warmed);
  return run_step(audio_step(), name, bytes);
}

// Two seconds at 8 kHz: the first one loud, the second silent. `list` are tags of RIFF.
std::string make_wav(const std::string& list = "") {
  std::string samples;
  for (int i = 0; i < 16'000; ++i) {
    const double level = i < 8'000 ? std::sin(i * 0.3) * 32'000 : 0;
    samples += little(static_cast<std::uint64_t>(static_cast<std::int64_t>(level)), 2);
  }
  const std::string format = little(1, 2) + little(1, 2) + little(8'000, 4) + little(16'000, 4) +
                             little(2, 2) + little(16, 2);
  std::string body = "WAVEfmt " + little(format.size(), 4) + format;
  if (!list.empty()) body += "LIST" + little(list.size() + 4, 4) + "INFO" + list;
  body += "data" + little(samples.size(), 4) + samples;
  return "RIFF" + little(body.size(), 4) + body;
}

std::string riff_tag(const std::string& name, std::string value) {
  if (value.size() % 2 == 0) value += '\0';
  value += '\0';
  return name + little(value.size(), 4) + value;
}

TEST(AudioTest, ASoundIsAPageWithItsTagsAndItsShape) {
  const StepRun run =
      hear("a.wav", make_wav(riff_tag("INAM", "A title") + riff_tag("IART", "Ann")));
  ASSERT_FALSE(run.end.has_value()) << run.end->message;
  const auto children = made_children(run);
  ASSERT_EQ(children.size(), 1U);
  EXPECT_EQ(children[0].type, "application/pdf");
  EXPECT_TRUE(children[0].blob.starts_with("%PDF-"));
  EXPECT_EQ(children[0].metadata.at("Title").as_string(), "A title");
  EXPECT_EQ(children[0].metadata.at("Duration").as_string(), "0:00:02");
  EXPECT_THAT(run.part("0.txt"), HasSubstr("Artist: Ann\n"));
  EXPECT_THAT(run.part("0.txt"), HasSubstr("Sound: pcm_s16le, 8000 Hz, mono\n"));
  EXPECT_TRUE(run.part("0-thumbnail.jpg").starts_with("\xFF\xD8\xFF"));
}

TEST(AudioTest, TheShapeIsThatOfTheSound) {
  const std::string wav = make_wav();
  const io::Descriptor file = *make_memory_file(wav);
  SoundInfo info;
  ASSERT_FALSE(read_sound({file.get(), wav.size(), 0, ""}, info).has_value());
  ASSERT_GE(info.peaks.size(), kPeaksMax / 2 - 1);
  EXPECT_GT(info.peaks[info.peaks.size() / 4], 0.9F);
  EXPECT_EQ(info.peaks[info.peaks.size() * 3 / 4], 0.0F);
}

TEST(AudioTest, PeaksOfAnyLengthAreFewAndKeepTheLoudest) {
  Peaks peaks(10);
  for (int i = 0; i < 1'000'003; ++i) peaks.add(i == 500'000 ? 0.75F : 0.25F);
  const std::vector<float> found = peaks.finish();
  EXPECT_LE(found.size(), 10U);
  EXPECT_GE(found.size(), 5U);
  EXPECT_EQ(std::count(found.begin(), found.end(), 0.75F), 1);
}

TEST(AudioTest, TagsComeInTheOrderOfTheirWorth) {
  SoundInfo info;
  info.tags = {{"Encoder", "x"}, {"Handler name", "y"}, {"Artist", "Ann"}, {"Title", "A title"}};
  EXPECT_EQ(sound_text(info), "Title: A title\nArtist: Ann\nEncoder: x\nSound: no sound track\n");
}

TEST(AudioTest, ChaptersAreLines) {
  SoundInfo info;
  info.codec = "aac";
  info.peaks = {0.5F};
  info.chapters = {{0, "Begin"}, {3'723.4, "End"}};
  EXPECT_THAT(sound_text(info), HasSubstr("\nChapters:\n0:00:00  Begin\n1:02:03  End\n"));
}

TEST(AudioTest, AFileWithoutASoundTrackSaysSo) {
  SoundInfo info;
  info.format = "QuickTime / MOV";
  info.video = "h264, 1280 x 720";
  EXPECT_EQ(sound_text(info),
            "Format: QuickTime / MOV\nSound: no sound track\nVideo: h264, 1280 x 720\n");
}

// A film of nothing but words, made by FFmpeg itself.
std::string make_subtitles(const std::vector<std::string>& lines) {
  AVFormatContext* film = nullptr;
  CHECK(::avformat_alloc_output_context2(&film, nullptr, "matroska", nullptr) >= 0);
  film->flags |= AVFMT_FLAG_BITEXACT;
  AVStream* stream = ::avformat_new_stream(film, nullptr);
  stream->codecpar->codec_type = AVMEDIA_TYPE_SUBTITLE;
  stream->codecpar->codec_id = AV_CODEC_ID_SUBRIP;
  CHECK(::avio_open_dyn_buf(&film->pb) >= 0);
  CHECK(::avformat_write_header(film, nullptr) >= 0);
  AVPacket* packet = ::av_packet_alloc();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    ::av_new_packet(packet, static_cast<int>(lines[i].size()));
    std::copy(lines[i].begin(), lines[i].end(), packet->data);
    packet->pts = packet->dts =
        ::av_rescale_q(static_cast<std::int64_t>(i) * 60, {1, 1}, stream->time_base);
    packet->duration = ::av_rescale_q(2, {1, 1}, stream->time_base);
    CHECK(::av_write_frame(film, packet) >= 0);
    ::av_packet_unref(packet);
  }
  ::av_packet_free(&packet);
  CHECK(::av_write_trailer(film) >= 0);
  std::uint8_t* bytes = nullptr;
  const int size = ::avio_close_dyn_buf(film->pb, &bytes);
  std::string result(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  ::av_free(bytes);
  ::avformat_free_context(film);
  return result;
}

TEST(AudioTest, SubtitlesAreText) {
  const StepRun run = hear("a.mkv", make_subtitles({"<i>Good</i> evening,\nladies", "and Größe"}));
  ASSERT_FALSE(run.end.has_value()) << run.end->message;
  EXPECT_THAT(run.part("0.txt"), HasSubstr("Sound: no sound track\n"));
  EXPECT_THAT(run.part("0.txt"),
              HasSubstr("\nSubtitles:\n0:00:00  Good evening, ladies\n0:01:00  and Größe\n"));
}

TEST(AudioTest, WhatIsNoSoundSaysSo) {
  const StepRun run = hear("a.mp3", "just some words");
  ASSERT_TRUE(run.end.has_value());
  EXPECT_EQ(run.end->kind, ErrorKind::Unsupported);
}

TEST(AudioTest, AListOfOtherFilesIsNotFollowed) {
  for (const char* list :
       {"ffconcat version 1.0\nfile /etc/passwd\n",
        "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nfile:///etc/passwd\n"}) {
    const StepRun run = hear("a.mp3", list);
    ASSERT_TRUE(run.end.has_value());
    EXPECT_EQ(run.end->kind, ErrorKind::Unsupported);
  }
}

TEST(AudioTest, ACutSoundIsReadAsFarAsItGoes) {
  const std::string wav = make_wav();
  const StepRun run = hear("a.wav", wav.substr(0, wav.size() / 2));
  EXPECT_FALSE(run.end.has_value());
  EXPECT_THAT(run.part("0.txt"), HasSubstr("Sound: pcm_s16le"));
}

TEST(AudioTest, TheSameSoundGivesTheSameBytes) {
  const std::string wav = make_wav(riff_tag("INAM", "A title"));
  EXPECT_EQ(hear("a.wav", wav).parts, hear("a.wav", wav).parts);
}

}  // namespace
}  // namespace quern::worker
