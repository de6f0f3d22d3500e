#include "model/steps.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "model/type_table.h"

namespace quern::model {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::optional<StepId> step_of(std::string_view type) {
  return step_for_type(type, Ocr::No);
}

TEST(StepsTest, NamesAndWeightsAreThoseOfTheProtocol) {
  const std::pair<const char*, double> rows[] = {
      {"Archive", 0.1}, {"Email", 0.1},   {"Html", 0.75}, {"Image", 1},   {"Office", 0.75},
      {"Pdf", 1},       {"PdfOcr", 0.75}, {"Pst", 0.1},   {"Text", 0.75}, {"Ebook", 0.75},
      {"Audio", 1},     {"Mbox", 0.1},    {"Msg", 0.1},   {"Detect", 0},  {"Page", 1}};
  ASSERT_EQ(std::size(rows), kSteps.size());
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kSteps[i]), i);
    EXPECT_EQ(to_string(kSteps[i]), rows[i].first);
    EXPECT_EQ(parse_step(rows[i].first), kSteps[i]);
    EXPECT_EQ(progress_weight(kSteps[i]), rows[i].second);
  }
  for (const char* name : {"", "archive", "PDF", "Archive ", "Unhandled"}) {
    EXPECT_EQ(parse_step(name), std::nullopt) << name;
  }
}

// The table of the public converters, as it stands in their server: key by key.
struct Seed {
  StepId step;
  std::string_view prefix;
  std::string_view keys;
};
constexpr Seed kSeeds[] = {
    {StepId::Pdf, "application/", "pdf"},
    {StepId::Archive, "application/",
     "bzip2 gzip jar tar vnd.ms-cab-compressed x-7z-compressed x-bzip x-bzip2 "
     "x-bzip-compressed-tar "
     "x-bzip2-compressed-tar x-compressed-tar x-iso9660-image x-rar-compressed x-tar x-xz "
     "x-xz-compressed-tar zip"},
    {StepId::Email, "", "message/rfc822"},
    {StepId::Image, "", "image/jpeg image/png"},
    {StepId::Html, "", "application/xhtml+xml text/html"},
    {StepId::Text, "application/", "javascript json x-python x-ruby x-shellscript x-yaml xml"},
    {StepId::Text, "text/", "plain x-c++src markdown calendar vcard x-anything-at-all"},
    {StepId::Office, "",
     "text/csv application/csv application/tab-separated-values image/x-freehand"},
    {StepId::Office, "application/",
     "clarisworks excel macwriteii msexcel mspowerpoint msword prs.plucker wordperfect x-123 "
     "x-aportisdoc x-dbase x-dbf x-doc x-dos_ms_excel x-excel x-extension-txt x-hwp "
     "x-iwork-keynote-sffkey x-msexcel x-ms-excel x-quattropro x-t602 x-wpg"},
    {StepId::Office, "application/vnd.",
     "corel-draw lotus-1-2-3 lotus-wordpro ms-excel ms-powerpoint ms-publisher ms-word ms-works "
     "palm "
     "stardivision.writer-global visio wordperfect ms-excel.sheet.binary.macroenabled.12 "
     "ms-excel.sheet.macroenabled.12 ms-excel.template.macroenabled.12 "
     "ms-powerpoint.presentation.macroenabled.12 ms-powerpoint.template.macroenabled.12 "
     "ms-powerpoint.slideshow.macroEnabled.12 ms-word.document.macroenabled.12 "
     "ms-word.template.macroenabled.12"},
    {StepId::Office, "application/vnd.oasis.opendocument.",
     "chart chart-template graphics graphics-flat-xml graphics-template presentation "
     "presentation-flat-xml presentation-template spreadsheet spreadsheet-flat-xml "
     "spreadsheet-template text text-flat-xml text-master text-template text-web"},
    {StepId::Office, "application/vnd.openxmlformats-officedocument.",
     "presentationml.presentation presentationml.slide presentationml.slideshow "
     "presentationml.template spreadsheetml.sheet spreadsheetml.template wordprocessingml.document "
     "wordprocessingml.template"},
    {StepId::Office, "application/vnd.sun.xml.",
     "calc calc.template draw draw.template impress impress.template writer writer.template "
     "writer.global"},
    // Ours: the public Html step renders RTF as if it were HTML.
    {StepId::Office, "application/", "rtf"},
    // Ours: they have no step for books, so theirs go through LibreOffice.
    {StepId::Ebook, "application/", "x-fictionbook+xml"},
};

TEST(StepsTest, EveryTypeOfThePublicConvertersHasItsStep) {
  std::size_t keys = 0;
  for (const Seed& seed : kSeeds) {
    for (const std::string& key : words_of(seed.keys)) {
      const std::string type = std::string(seed.prefix) + key;
      EXPECT_EQ(step_of(type), seed.step) << type;
      EXPECT_EQ(step_of(upper(type)), seed.step) << type;
      EXPECT_EQ(step_of(" \t" + type + " ; charset=x; q=\"a/b\""), seed.step) << type;
      ++keys;
    }
  }
  // 114 with text/* and vnd.ms-outlook; six of ours stand for text/*, and outlook has its own test.
  EXPECT_EQ(keys, 114U - 2 + 6);
}

TEST(StepsTest, WhatCameOutUnhandledThereHasAStepHere) {
  const std::pair<StepId, const char*> rows[] = {
      {StepId::Archive,
       "application/vnd.rar application/x-rar application/x-cd-image application/vnd.efi.iso "
       "application/java-archive application/x-java-archive application/x-lzma application/zstd "
       "application/x-cpio application/x-archive application/vnd.debian.binary-package "
       "application/x-xar application/x-lz4 application/vnd.android.package-archive "
       "application/vnd.etsi.asic-s+zip"},
      {StepId::Office,
       "application/vnd.ms-word.document.macroEnabled.12 "
       "application/vnd.ms-excel.sheet.macroEnabled.12 "
       "application/vnd.ms-excel.sheet.binary.macroEnabled.12 "
       "application/vnd.ms-powerpoint.presentation.macroEnabled.12 text/rtf application/x-rtf "
       "text/tsv"},
      {StepId::Image,
       "image/gif image/tiff image/bmp image/x-ms-bmp image/webp image/svg+xml image/heic "
       "image/jp2 "
       "image/jpg image/avif"},
      {StepId::Ebook,
       "application/epub+zip application/x-mobipocket-ebook application/oxps "
       "application/vnd.ms-xpsdocument application/vnd.comicbook+zip"},
      {StepId::Mbox, "application/mbox application/x-mbox"},
      {StepId::Email, "message/x-emlx message/news"},
      {StepId::Html, "multipart/related application/x-mimearchive"},
      {StepId::Text,
       "application/sql application/x-sql application/x-php application/x-perl application/rss+xml "
       "application/ld+json application/vnd.google-earth.kml+xml text/xml text/javascript "
       "application/toml message/delivery-status"},
      {StepId::Audio,
       "audio/mpeg audio/x-wav audio/mp4 audio/ogg audio/flac application/ogg video/mp4 "
       "video/x-matroska video/anything"}};
  for (const auto& [step, types] : rows) {
    for (const std::string& type : words_of(types)) EXPECT_EQ(step_of(type), step) << type;
  }
}

TEST(StepsTest, PdfGoesToOcrWhereWanted) {
  EXPECT_EQ(step_for_type("application/pdf", Ocr::No), StepId::Pdf);
  EXPECT_EQ(step_for_type("application/pdf", Ocr::Yes), StepId::PdfOcr);
  EXPECT_EQ(step_for_type("application/x-pdf", Ocr::Yes), StepId::PdfOcr);
  EXPECT_EQ(step_for_type("image/png", Ocr::Yes), StepId::Image);
}

TEST(StepsTest, OutlookFilesAreToldApartByContent) {
  EXPECT_TRUE(needs_detection("Application/vnd.ms-outlook"));
  EXPECT_EQ(step_of("application/vnd.ms-outlook"), StepId::Msg) << "once detection has said so";
  EXPECT_FALSE(needs_detection("application/vnd.ms-outlook-pst"));
  EXPECT_EQ(step_of("application/vnd.ms-outlook-pst"), StepId::Pst);
}

TEST(StepsTest, WhatIsNoTypeNeedsDetection) {
  for (const char* type : {"", " ", "application/octet-stream", "APPLICATION/Octet-Stream; x=y",
                           "zip", "/", "a/", "/b", "a/b/c", "a b/c", "\xC3\xA4/b", ";charset=x"}) {
    EXPECT_TRUE(needs_detection(type)) << type;
    EXPECT_EQ(canonical_type(type), kUnknownType) << type;
    EXPECT_EQ(step_of(type), std::nullopt) << type;
  }
  EXPECT_TRUE(needs_detection("text/" + std::string(kTypeBytesMax, 'x')));
  EXPECT_FALSE(needs_detection("application/zip"));
}

TEST(StepsTest, WhatNobodyTakesHasNoStep) {
  for (const char* type : {"application/x-executable", "application/x-sqlite3", "font/woff",
                           "model/stl", "image/x-unheard-of", "application/postscript",
                           "inode/directory", "application/x-dosexec"}) {
    EXPECT_EQ(step_of(type), std::nullopt) << type;
    EXPECT_EQ(canonical_type(type), type);
  }
}

TEST(StepsTest, TheTableIsCanonicalAndHasNoTypeTwice) {
  std::set<std::string> types;
  for (const TypesOfStep& row : types_of_steps()) {
    for (const std::string& type : words_of(row.types)) {
      EXPECT_TRUE(types.insert(type).second) << type;
      EXPECT_EQ(canonical_type(type), type) << "it is an alias, or not in lower case";
      EXPECT_EQ(step_of(type), row.step) << type;
    }
  }
  std::set<std::string> aliases;
  for (const AliasesOfType& row : aliases_of_types()) {
    EXPECT_EQ(canonical_type(row.type), row.type) << "an alias of an alias";
    EXPECT_TRUE(step_of(row.type).has_value()) << row.type;
    for (const std::string& alias : words_of(row.aliases)) {
      EXPECT_TRUE(aliases.insert(alias).second) << alias;
      EXPECT_FALSE(types.contains(alias)) << alias;
      EXPECT_EQ(canonical_type(upper(alias)), row.type);
      EXPECT_EQ(step_of(alias), step_of(row.type)) << alias;
    }
  }
}

}  // namespace
}  // namespace quern::model
