#include "worker/sound_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "worker/pdf_file.h"
#include "worker/text_layout.h"
#include "worker/text_pdf.h"

namespace quern::worker {
namespace {

// On the first page the shape takes the place of so many lines.
constexpr int kShapeLines = 14;
constexpr int kShapeWidth = kPageWidth - 2 * kPageMargin;
constexpr int kShapeHeight = (kShapeLines - 2) * kLineHeight;
constexpr int kThumbnailWidth = 320;
constexpr int kThumbnailHeight = 160;
constexpr int kBars = 160;

struct Area {
  int x;
  int y;
  int width;
  int height;
};

// Bars of equal width around a line in the middle; loudness in hundredths, so that the last bits
// of a sample do not count.
std::string shape_content(const std::vector<float>& peaks, const Area& area) {
  const double middle = area.y + area.height / 2.0;
  std::string content = "0.15 0.35 0.65 rg\n";
  content += fmt::format("{} {:.2f} {} 0.5 re\n", area.x, middle, area.width);
  const std::size_t bars = std::min<std::size_t>(peaks.size(), kBars);
  for (std::size_t i = 0; i < bars; ++i) {
    const std::size_t begin = i * peaks.size() / bars;
    const std::size_t end = std::max((i + 1) * peaks.size() / bars, begin + 1);
    const float peak = *std::max_element(peaks.begin() + static_cast<std::ptrdiff_t>(begin),
                                         peaks.begin() + static_cast<std::ptrdiff_t>(end));
    const double height = std::round(peak * 100.0) / 100.0 * area.height;
    const double width = double(area.width) / double(bars);
    content += fmt::format("{:.2f} {:.2f} {:.2f} {:.2f} re\n", area.x + double(i) * width,
                           middle - height / 2, width * 0.7, height);
  }
  return content + "f\n0 g\n";
}

std::string sound_line(const SoundInfo& info) {
  if (info.codec.empty()) return "no sound track";
  std::string line = info.codec;
  if (info.samples_per_second > 0) line += fmt::format(", {} Hz", info.samples_per_second);
  if (info.channels == 1) line += ", mono";
  if (info.channels == 2) line += ", stereo";
  if (info.channels > 2) line += fmt::format(", {} channels", info.channels);
  return line;
}

// What people look for first, then the rest; nothing that only players understand.
SoundFields ordered_tags(const SoundFields& tags) {
  constexpr std::array kFirst = {"Title", "Artist",   "Album", "Album artist", "Composer",
                                 "Date",  "Language", "Genre", "Track",        "Comment"};
  constexpr std::array kHidden = {"Major brand",  "Minor version", "Compatible brands",
                                  "Handler name", "Vendor id",     "ITunSMPB",
                                  "ITunNORM"};
  const auto is_in = [](const auto& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  SoundFields ordered;
  for (const char* name : kFirst) {
    for (const auto& tag : tags) {
      if (tag.first == name && tag.second != "und") ordered.push_back(tag);
    }
  }
  for (const auto& tag : tags) {
    if (!is_in(kFirst, tag.first) && !is_in(kHidden, tag.first)) ordered.push_back(tag);
  }
  return ordered;
}

}  // namespace

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::clamp(std::round(seconds), 0.0, 1e9));
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

SoundFields sound_fields(const SoundInfo& info) {
  SoundFields fields = ordered_tags(info.tags);
  const auto put = [&fields](const char* name, std::string value) {
    const auto same = [name](const auto& field) { return field.first == name; };
    std::erase_if(fields, same);
    if (!value.empty()) fields.emplace_back(name, std::move(value));
  };
  put("Duration", info.duration_s > 0 ? clock_text(info.duration_s) : "");
  put("Format", info.format);
  put("Sound", sound_line(info));
  put("Video", info.video);
  put("Bit rate", info.bits_per_second > 0
                      ? fmt::format("{} kbit/s", (info.bits_per_second + 500) / 1000)
                      : "");
  put("Pictures", info.pictures > 0 ? std::to_string(info.pictures) : "");
  return fields;
}

std::string sound_text(const SoundInfo& info) {
  std::string text;
  for (const auto& [name, value] : sound_fields(info)) {
    // Words of a song begin on a line of their own.
    const bool long_value = value.find('\n') != std::string::npos;
    text += name + (long_value ? ":\n" : ": ") + value + "\n";
  }
  if (!info.codec.empty() && info.peaks.empty()) text += "The sound could not be decoded.\n";
  if (!info.chapters.empty()) text += "\nChapters:\n";
  for (const SoundChapter& chapter : info.chapters) {
    text += clock_text(chapter.start_s) + "  " + chapter.title + "\n";
  }
  if (!info.subtitles.empty()) text += "\nSubtitles:\n";
  for (const Subtitle& subtitle : info.subtitles) {
    text += clock_text(subtitle.start_s) + "  " + subtitle.text + "\n";
  }
  return text;
}

std::string sound_pdf(const SoundInfo& info, const std::string& text, std::size_t pages_max) {
  const Area area{kPageMargin, kPageHeight - kPageMargin - kShapeHeight, kShapeWidth, kShapeHeight};
  if (info.peaks.empty()) return text_pdf(lay_out(text, pages_max));
  return text_pdf(lay_out(std::string(kShapeLines, '\n') + text, pages_max),
                  shape_content(info.peaks, area));
}

std::string shape_pdf(const SoundInfo& info) {
  const Area area{10, 10, kThumbnailWidth - 20, kThumbnailHeight - 20};
  PdfFile file;
  const int catalog = file.reserve();
  const int tree = file.reserve();
  const int content = file.add_stream("", shape_content(info.peaks, area));
  const int page =
      file.add(fmt::format("<</Type/Page/Parent {} 0 R/Contents {} 0 R>>", tree, content));
  file.set(catalog, fmt::format("<</Type/Catalog/Pages {} 0 R>>", tree));
  file.set(tree, fmt::format("<</Type/Pages/Count 1/MediaBox[0 0 {} {}]/Resources<<>>"
                             "/Kids[{} 0 R]>>",
                             kThumbnailWidth, kThumbnailHeight, page));
  return file.finish(catalog);
}

}  // namespace quern::worker
