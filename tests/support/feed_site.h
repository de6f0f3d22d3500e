// A podcast on this machine: a feed of several pages and its sound, some of it where it should not
// be.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "support/faulty_files.h"

namespace quern::support {

// A WAV file of so many samples, 8,000 of them a second; another seed, other bytes.
inline std::string small_wav(std::uint64_t seed, std::uint32_t samples = 800) {
  const auto word = [](std::uint32_t value) {
    std::string bytes;
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
    return bytes;
  };
  const std::uint32_t bytes = samples * 2;
  // PCM, one channel, 8,000 samples of 16 bits a second.
  return "RIFF" + word(36 + bytes) + "WAVEfmt " + word(16) + word(0x00010001) + word(8000) +
         word(16'000) + word(0x00100002) + "data" + word(bytes) + made_bytes(seed, 0, bytes);
}

struct FeedItem {
  std::string guid;
  std::string title;
  std::string path;  // of its sound; "" for none
  std::string date = "Fri, 27 Mar 2020 01:09:35 GMT";
};

class FeedSite {
 public:
  std::string url(const std::string& path = "/feed.xml") const { return files_.url(path); }
  FaultyFiles& files() { return files_; }

  void put_sound(const std::string& path, std::uint64_t seed) {
    FaultyFile file;
    file.bytes = small_wav(seed);
    file.content_type = "audio/wav";
    files_.put(path, file);
  }
  void put_text(const std::string& path, const std::string& type, const std::string& text) {
    FaultyFile file;
    file.bytes = text;
    file.content_type = type;
    file.etag = fmt::format("\"{}\"", ++versions_);
    files_.put(path, file);
  }
  // `next`: of the following page, relative; "" at the end.
  void put_feed(const std::vector<FeedItem>& items, const std::string& path = "/feed.xml",
                const std::string& next = "") {
    std::string text = "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>A show</title>";
    if (!next.empty()) text += fmt::format("<atom:link rel=\"next\" href=\"{}\"/>", next);
    for (const FeedItem& item : items) {
      text += fmt::format("<item><guid>{}</guid><title>{}</title><pubDate>{}</pubDate>", item.guid,
                          item.title, item.date);
      if (!item.path.empty()) {
        text += fmt::format("<enclosure url=\"{}\" type=\"audio/wav\"/>", item.path);
      }
      text += "</item>";
    }
    put_text(path, "application/rss+xml", text + "</channel></rss>");
  }
  std::size_t times(const std::string& path) const { return files_.requests(path).size(); }

 private:
  FaultyFiles files_;
  int versions_ = 0;
};

}  // namespace quern::support
