// OcrEngine: words that a picture of a page shows, by Tesseract, in one thread.
//
// Made once, before the fork, with English; another language is loaded by the task that asks for
// it. The same picture gives the same words.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tesseract {
class TessBaseAPI;
}

namespace quern::worker {

// CPU time for a page.
inline constexpr std::int64_t kOcrPageMs = 180'000;

// Gray, 0 is black.
struct GrayPicture {
  const unsigned char* samples;
  int width;
  int height;
  int stride;
  int dpi;
};

// In pixels from the upper left corner.
struct OcrWord {
  std::string text;
  int left = 0;
  int right = 0;
  // Of its line.
  int top = 0;
  int bottom = 0;
  bool ends_line = false;
};

struct OcrPage {
  std::vector<OcrWord> words;
  float confidence = 0;   // in percent; 0 where most words lie on their side
  bool was_late = false;  // stopped: these are not all
};

class OcrEngine {
 public:
  static OcrEngine& instance();

  // By its code of two letters ("de"). False where its data is not installed: English serves.
  bool use_language(std::string_view code);
  OcrPage read(const GrayPicture& picture);

 private:
  OcrEngine();
  ~OcrEngine();
  bool load(const std::string& language);

  std::unique_ptr<tesseract::TessBaseAPI> api_;
  std::string loaded_;
};

// "deu" for "de"; "" where nobody knows.
std::string ocr_language(std::string_view code);

std::string ocr_version();

}  // namespace quern::worker
