// Image and PdfOcr: pictures as pages, words by OCR, and pictures that are made to hurt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <webp/encode.h>

#include <cstdlib>
#include <ctime>

#include "worker/exif.h"
#include "worker/mupdf_call.h"
#include "worker/mupdf_context.h"
#include "worker/ocr_engine.h"
#include "worker/ocr_pdf.h"
#include "worker/pdf_maker.h"
#include "worker/picture.h"
#include "worker/step_harness.h"
#include "worker/steps.h"
#include "worker/thumbnail.h"

namespace quern::worker {
namespace {

using model::ErrorKind;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Pixels {
  int width = 0;
  int height = 0;
  std::string rgb;
};

Pixels plain_pixels(int width, int height) {
  return {width, height, std::string(static_cast<std::size_t>(width * height) * 3, '\x40')};
}

// A page of a PDF as a picture, at 200 dpi.
Pixels picture_of(const std::string& pdf) {
  fz_context* const ctx = mupdf_context();
  fz_stream* const stream =
      ::fz_open_memory(ctx, reinterpret_cast<const unsigned char*>(pdf.data()), pdf.size());
  fz_document* const document = ::fz_open_document_with_stream(ctx, "application/pdf", stream);
  fz_pixmap* const pixmap = ::fz_new_pixmap_from_page_number(
      ctx, document, 0, ::fz_scale(200.0F / 72, 200.0F / 72), ::fz_device_rgb(ctx), 0);
  Pixels pixels{
      pixmap->w, pixmap->h,
      std::string(reinterpret_cast<const char*>(pixmap->samples),
                  static_cast<std::size_t>(pixmap->h) * static_cast<std::size_t>(pixmap->stride))};
  ::fz_drop_pixmap(ctx, pixmap);
  ::fz_drop_document(ctx, document);
  ::fz_drop_stream(ctx, stream);
  return pixels;
}

std::string ppm_of(const Pixels& pixels) {
  return fmt::format("P6\n{} {}\n255\n", pixels.width, pixels.height) + pixels.rgb;
}

std::string jpeg_from(const Pixels& pixels) {
  return jpeg_of({reinterpret_cast<const unsigned char*>(pixels.rgb.data()), pixels.width,
                  pixels.height, std::ptrdiff_t{3} * pixels.width, 3},
                 90);
}

std::string webp_of(const Pixels& pixels) {
  std::uint8_t* bytes = nullptr;
  const std::size_t size =
      ::WebPEncodeLosslessRGB(reinterpret_cast<const std::uint8_t*>(pixels.rgb.data()),
                              pixels.width, pixels.height, pixels.width * 3, &bytes);
  std::string webp(reinterpret_cast<const char*>(bytes), size);
  ::WebPFree(bytes);
  return webp;
}

Pixels letter_pixels() {
  return picture_of(
      make_pdf({{"BT/F 24 Tf 72 700 Td(The quick brown fox)Tj 0 -40 Td"
                 "(jumps over the lazy dog)Tj ET"}}));
}

StepRun run_ocr(const Step& step, const std::string& bytes, const std::string& language = "en") {
  StepTask task;
  task.filename = "a";
  task.language_code = language;
  task.want_ocr = true;
  return run_task(step, task, bytes);
}

TEST(ImageTest, APictureBecomesAPageWithoutWords) {
  StepTask task;
  task.filename = "a.jpg";
  task.want_split_by_page = true;
  const std::string jpeg = jpeg_from(letter_pixels());
  const StepRun run = run_task(image_step(), task, jpeg);
  ASSERT_FALSE(run.end) << run.end->message;
  EXPECT_THAT(run.part("0.blob"), StartsWith("%PDF-"));
  // As it is: not a bit of it is lost.
  EXPECT_THAT(run.part("0.blob"), HasSubstr(jpeg));
  EXPECT_EQ(run.part("0.txt"), "");
  EXPECT_THAT(run.part("0-thumbnail.jpg"), StartsWith("\xFF\xD8\xFF"));
  EXPECT_THAT(run.part("0.json"), HasSubstr(R"("wantSplitByPage":false)"));
  EXPECT_THAT(run.part("0.json"), Not(HasSubstr("isFromOcr")));
}

TEST(ImageTest, OtherFormatsArePagesToo) {
  const std::string svg =
      "<svg xmlns='http://www.w3.org/2000/svg' width='90' height='90'><rect width='50' "
      "height='50'/></svg>";
  for (const std::string& bytes :
       {ppm_of(plain_pixels(40, 30)), webp_of(plain_pixels(40, 30)), svg}) {
    const StepRun run = run_step(image_step(), "a", bytes);
    ASSERT_FALSE(run.end) << run.end->message;
    EXPECT_THAT(run.part("0.blob"), StartsWith("%PDF-"));
    EXPECT_TRUE(run.has("0-thumbnail.jpg"));
  }
}

// A table of texts, as cameras write it.
std::string exif_of(const std::vector<std::pair<int, std::string>>& texts) {
  const auto number = [](std::size_t value, int size) {
    std::string bytes;
    for (int i = size - 1; i >= 0; --i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
    return bytes;
  };
  std::string table = number(texts.size(), 2);
  std::string behind;
  const std::size_t end = 8 + 2 + texts.size() * 12 + 4;
  for (const auto& [tag, text] : texts) {
    table += number(static_cast<std::size_t>(tag), 2) + number(2, 2) + number(text.size() + 1, 4) +
             number(end + behind.size(), 4);
    behind += text + std::string(1, '\0');
  }
  const std::string tiff = std::string("MM\0*\0\0\0\x08", 8) + table + number(0, 4) + behind;
  const std::string part = std::string("Exif\0\0", 6) + tiff;
  return "\xFF\xE1" + number(part.size() + 2, 2) + part;
}

TEST(ExifTest, WhatACameraSaysIsMetadata) {
  std::string jpeg = jpeg_from(plain_pixels(40, 30));
  jpeg.insert(2, exif_of({{0x010E, "A house"},
                          {0x010F, "Maker"},
                          {0x0110, "Maker X100"},
                          {0x0132, "2020:03:27 01:09:35"}}));
  const StepRun run = run_step(image_step(), "a.jpg", jpeg);
  ASSERT_FALSE(run.end) << run.end->message;
  EXPECT_THAT(run.part("0.json"),
              HasSubstr(R"("metadata":{"Description":"A house","Creation Date":)"
                        R"("2020-03-27T01:09:35","Camera":"Maker X100"})"));
}

TEST(ExifTest, TablesThatLieSayNothing) {
  const std::string whole = jpeg_from(plain_pixels(4, 3)).insert(2, exif_of({{0x010E, "A house"}}));
  for (std::size_t size = 0; size < 80; ++size) {
    Metadata metadata("{}");
    add_exif(whole.substr(0, size), metadata);
  }
  std::string lies = exif_of({{0x010E, std::string(100, 'x')}, {0x8769, "far away"}});
  for (std::size_t i = 10; i < lies.size(); ++i) {
    std::string changed = lies;
    changed[i] = '\xFF';
    Metadata metadata("{}");
    add_exif("\xFF\xD8" + changed, metadata);
  }
}

TEST(ImageHostileTest, HugePicturesAreRefusedBeforeTheyAreRead) {
  EXPECT_FALSE(judge_size(10'000, 10'000));
  EXPECT_EQ(judge_size(100'000, 10)->kind, ErrorKind::TooLarge);
  EXPECT_EQ(judge_size(20'000, 20'000)->kind, ErrorKind::TooLarge);
  std::string png("\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\xC3\x50\0\0\xC3\x50\x08\x02\0\0\0", 29);
  png += std::string("\x8B\x5A\xB2\x2B", 4) + std::string("\0\0\0\0IEND\xAE\x42\x60\x82", 12);
  const StepRun run = run_step(image_step(), "a.png", png);
  ASSERT_TRUE(run.end);
  EXPECT_TRUE(run.end->kind == ErrorKind::TooLarge || run.end->kind == ErrorKind::Corrupt);
}

TEST(ImageHostileTest, DamageAndUnknownFormatsAreTold) {
  const std::string jpeg = jpeg_from(plain_pixels(40, 30));
  const std::string webp = webp_of(letter_pixels());
  const std::pair<std::string, ErrorKind> cases[] = {
      {"no picture at all", ErrorKind::Unsupported},
      {jpeg.substr(0, 20), ErrorKind::Corrupt},
      {webp.substr(0, webp.size() / 2), ErrorKind::Corrupt},
      {std::string("\0\0\x01\0\x01\0", 6) + std::string(16, '\xFF'), ErrorKind::Corrupt},
      {"\xFF\x0A nothing", ErrorKind::Corrupt},
      {std::string("\0\0\0\x18", 4) + "ftypheic nothing", ErrorKind::Corrupt}};
  for (const auto& [bytes, kind] : cases) {
    const StepRun run = run_step(image_step(), "a", bytes);
    ASSERT_TRUE(run.end) << bytes.substr(0, 10);
    EXPECT_EQ(run.end->kind, kind) << run.end->message;
  }
}

TEST(OcrTest, WordsOfAPictureAreFoundWhereSomebodyAsks) {
  const StepRun run = run_ocr(image_step(), jpeg_from(letter_pixels()));
  ASSERT_FALSE(run.end) << run.end->message;
  EXPECT_EQ(run.part("0.txt"), "The quick brown fox\njumps over the lazy dog\n");
  EXPECT_THAT(run.part("0.json"), HasSubstr(R"("isFromOcr":true)"));
  EXPECT_THAT(run.part("0.json"), HasSubstr(R"("wantOcr":false)"));
}

TEST(OcrTest, PagesOnTheirSideAreRead) {
  const Pixels upright = letter_pixels();
  Pixels turned{upright.height, upright.width, std::string(upright.rgb.size(), '\0')};
  const auto pixel = [](const Pixels& pixels, int x, int y) {
    return static_cast<std::size_t>(y * pixels.width + x) * 3;
  };
  for (int y = 0; y < upright.height; ++y) {
    for (int x = 0; x < upright.width; ++x) {
      turned.rgb.replace(pixel(turned, upright.height - 1 - y, x), 3,
                         upright.rgb.substr(pixel(upright, x, y), 3));
    }
  }
  EXPECT_THAT(run_ocr(image_step(), jpeg_from(turned)).part("0.txt"), HasSubstr("quick brown fox"));
}

TEST(OcrTest, ALanguageWithoutDataIsReadAsEnglish) {
  EXPECT_EQ(ocr_language("de"), "deu");
  EXPECT_EQ(ocr_language("xx"), "");
  EXPECT_TRUE(OcrEngine::instance().use_language("en"));
  EXPECT_FALSE(OcrEngine::instance().use_language("xx"));
  const StepRun run = run_ocr(image_step(), jpeg_from(letter_pixels()), "xx");
  EXPECT_THAT(run.part("0.txt"), HasSubstr("quick brown"));
}

// A page of text, and one that is a scan of a page with a stamp on it.
std::string half_scanned_pdf() {
  const Pixels scan = letter_pixels();
  const std::string jpeg = jpeg_from(scan);
  PdfFile file;
  const int catalog = file.reserve();
  const int tree = file.reserve();
  const int font =
      file.add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>");
  const int image =
      file.add(fmt::format("<</Type/XObject/Subtype/Image/Width {}/Height {}/ColorSpace/{}"
                           "/BitsPerComponent 8/Filter/DCTDecode/Length {}>>stream\n{}\nendstream",
                           scan.width, scan.height, "DeviceGray", jpeg.size(), jpeg));
  std::string kids;
  for (const std::string& content :
       {line_at(72, 700, "This page has words of its own, and needs no more of them."),
        "q 595 0 0 842 0 0 cm/I Do Q " + line_at(400, 20, "STAMP 0001")}) {
    const int stream = file.add_stream("", content);
    kids += fmt::format("{} 0 R ",
                        file.add(fmt::format("<</Type/Page/Parent {} 0 R/MediaBox[0 0 595 842]"
                                             "/Contents {} 0 R/Resources<</Font<</F {} 0 R>>"
                                             "/XObject<</I {} 0 R>>>>>>",
                                             tree, stream, font, image)));
  }
  file.set(tree, fmt::format("<</Type/Pages/Count 2/Kids[{}]>>", kids));
  file.set(catalog, fmt::format("<</Type/Catalog/Pages {} 0 R>>", tree));
  return file.finish(catalog);
}

TEST(PdfOcrTest, OnlyPagesWithoutTextAreReadAndNothingIsSaidTwice) {
  const StepRun run = run_ocr(pdf_ocr_step(), half_scanned_pdf());
  ASSERT_FALSE(run.end) << run.end->message;
  EXPECT_EQ(run.part("0.txt"),
            "This page has words of its own, and needs no more of them.\n"
            "STAMP 0001\n\nThe quick brown fox\njumps over the lazy dog\n");
  EXPECT_THAT(run.part("0.json"), HasSubstr(R"("isFromOcr":true)"));
  // Its words can be found in its PDF.
  const StepRun again = run_step(pdf_step(), "a.pdf", run.part("0.blob"));
  EXPECT_EQ(again.part("0.txt"), run.part("0.txt"));
}

TEST(PdfOcrTest, APdfWithTextStaysAsItIs) {
  const StepRun run = run_ocr(pdf_ocr_step(), make_pdf({{line_at(72, 700, "Words")}}));
  ASSERT_FALSE(run.end) << run.end->message;
  EXPECT_TRUE(run.has("inherit-blob"));
  EXPECT_EQ(run.part("0.txt"), "Words\n");
  EXPECT_THAT(run.part("0.json"), Not(HasSubstr("isFromOcr")));
}

TEST(PdfOcrTest, SplitPagesKeepTheirWords) {
  StepTask task;
  task.filename = "a.pdf";
  task.language_code = "en";
  task.want_ocr = true;
  task.want_split_by_page = true;
  const StepRun run = run_task(pdf_ocr_step(), task, half_scanned_pdf());
  ASSERT_FALSE(run.end) << run.end->message;
  EXPECT_THAT(run.part("1.txt"), HasSubstr("The quick brown fox"));
  EXPECT_THAT(run.part("1.json"), HasSubstr(R"("pageNumber":2)"));
}

TEST(PdfOcrTest, WhatIsDamagedOrLockedIsToldAsByPdf) {
  EXPECT_EQ(run_ocr(pdf_ocr_step(), "%PDF-1.4 nothing").end->kind, ErrorKind::Corrupt);
  std::string broken = half_scanned_pdf();
  broken.resize(broken.rfind("xref\n0"));
  EXPECT_THAT(run_ocr(pdf_ocr_step(), broken).part("0.txt"), HasSubstr("The quick brown fox"));
}

TEST(OcrTest, TheSameBytesGiveTheSamePartsOnAnyDay) {
  const std::string pdf = half_scanned_pdf();
  const std::string jpeg = jpeg_from(letter_pixels());
  const StepRun first_pdf = run_ocr(pdf_ocr_step(), pdf);
  const StepRun first_image = run_ocr(image_step(), jpeg);
  ::setenv("TZ", "Asia/Tokyo", 1);
  ::tzset();
  const timespec pause{1, 100'000'000};
  ::nanosleep(&pause, nullptr);
  EXPECT_EQ(run_ocr(pdf_ocr_step(), pdf).parts, first_pdf.parts);
  EXPECT_EQ(run_ocr(image_step(), jpeg).parts, first_image.parts);
  ::unsetenv("TZ");
}

}  // namespace
}  // namespace quern::worker
