#include "worker/ocr_engine.h"

#include <tesseract/baseapi.h>
#include <tesseract/ocrclass.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

// Of OpenMP's library; its header is the compiler's own.
extern "C" void omp_set_max_active_levels(int levels);

namespace quern::worker {
namespace {

constexpr char kEnglish[] = "eng";
// In percent; below it, words are mostly dirt.
constexpr float kConfidenceMin = 20;

struct Language {
  std::string_view code;
  const char* name;
};
constexpr Language kLanguages[] = {
    {"af", "afr"}, {"am", "amh"}, {"ar", "ara"}, {"az", "aze"},    {"be", "bel"}, {"bg", "bul"},
    {"bn", "ben"}, {"bs", "bos"}, {"ca", "cat"}, {"cs", "ces"},    {"cy", "cym"}, {"da", "dan"},
    {"de", "deu"}, {"el", "ell"}, {"en", "eng"}, {"es", "spa"},    {"et", "est"}, {"eu", "eus"},
    {"fa", "fas"}, {"fi", "fin"}, {"fr", "fra"}, {"ga", "gle"},    {"gl", "glg"}, {"gu", "guj"},
    {"he", "heb"}, {"hi", "hin"}, {"hr", "hrv"}, {"hu", "hun"},    {"hy", "hye"}, {"id", "ind"},
    {"is", "isl"}, {"it", "ita"}, {"ja", "jpn"}, {"ka", "kat"},    {"kk", "kaz"}, {"km", "khm"},
    {"kn", "kan"}, {"ko", "kor"}, {"la", "lat"}, {"lt", "lit"},    {"lv", "lav"}, {"mk", "mkd"},
    {"ml", "mal"}, {"mr", "mar"}, {"ms", "msa"}, {"mt", "mlt"},    {"ne", "nep"}, {"nl", "nld"},
    {"no", "nor"}, {"pa", "pan"}, {"pl", "pol"}, {"pt", "por"},    {"ro", "ron"}, {"ru", "rus"},
    {"sk", "slk"}, {"sl", "slv"}, {"sq", "sqi"}, {"sr", "srp"},    {"sv", "swe"}, {"sw", "swa"},
    {"ta", "tam"}, {"te", "tel"}, {"th", "tha"}, {"tl", "tgl"},    {"tr", "tur"}, {"uk", "ukr"},
    {"ur", "urd"}, {"vi", "vie"}, {"yi", "yid"}, {"zh", "chi_sim"}};

std::int64_t cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

bool is_late(void* deadline, int /*words*/) {
  return cpu_ms() > *static_cast<const std::int64_t*>(deadline);
}

OcrWord word_at(const tesseract::ResultIterator& at, std::string text) {
  OcrWord word;
  word.text = std::move(text);
  int unused = 0;
  at.BoundingBox(tesseract::RIL_WORD, &word.left, &word.top, &word.right, &word.bottom);
  at.BoundingBox(tesseract::RIL_TEXTLINE, &unused, &word.top, &unused, &word.bottom);
  word.ends_line = at.IsAtFinalElement(tesseract::RIL_TEXTLINE, tesseract::RIL_WORD);
  return word;
}

bool is_upright(const tesseract::ResultIterator& at) {
  tesseract::Orientation orientation{};
  tesseract::WritingDirection direction{};
  tesseract::TextlineOrder order{};
  float skew = 0;
  at.Orientation(&orientation, &direction, &order, &skew);
  return orientation == tesseract::ORIENTATION_PAGE_UP;
}

std::vector<OcrWord> words_of(tesseract::TessBaseAPI& api, std::size_t& turned) {
  std::vector<OcrWord> words;
  const std::unique_ptr<tesseract::ResultIterator> at(api.GetIterator());
  if (!at || at->Empty(tesseract::RIL_WORD)) return words;
  do {
    const std::unique_ptr<char[]> text(at->GetUTF8Text(tesseract::RIL_WORD));
    if (text && at->Confidence(tesseract::RIL_WORD) >= kConfidenceMin) {
      words.push_back(word_at(*at, text.get()));
      turned += is_upright(*at) ? 0 : 1;
    }
  } while (at->Next(tesseract::RIL_WORD));
  return words;
}

}  // namespace

std::string ocr_language(std::string_view code) {
  const auto* const found = std::find_if(std::begin(kLanguages), std::end(kLanguages),
                                         [code](const Language& l) { return l.code == code; });
  return found == std::end(kLanguages) ? "" : found->name;
}

std::string ocr_version() {
  return tesseract::TessBaseAPI::Version();
}

OcrEngine& OcrEngine::instance() {
  static OcrEngine engine;
  return engine;
}

OcrEngine::~OcrEngine() = default;

OcrEngine::OcrEngine() {
  // A box starts no threads. Tesseract names their number itself, which only this overrules; more
  // than one is slower anyway.
  ::omp_set_max_active_levels(0);
  load(kEnglish);
}

bool OcrEngine::load(const std::string& language) {
  if (language == loaded_) return true;
  auto api = std::make_unique<tesseract::TessBaseAPI>();
  if (api->Init(nullptr, language.c_str(), tesseract::OEM_LSTM_ONLY) != 0) return false;
  api->SetPageSegMode(tesseract::PSM_AUTO);
  api_ = std::move(api);
  loaded_ = language;
  return true;
}

bool OcrEngine::use_language(std::string_view code) {
  const std::string language = ocr_language(code);
  if (!language.empty() && load(language)) return true;
  load(kEnglish);
  return false;
}

OcrPage OcrEngine::read(const GrayPicture& picture) {
  OcrPage page;
  if (!api_) return page;
  api_->SetImage(picture.samples, picture.width, picture.height, 1, picture.stride);
  api_->SetSourceResolution(picture.dpi);
  std::int64_t deadline = cpu_ms() + kOcrPageMs;
  tesseract::ETEXT_DESC monitor;
  monitor.cancel = is_late;
  monitor.cancel_this = &deadline;
  page.was_late = api_->Recognize(&monitor) != 0 || is_late(&deadline, 0);
  std::size_t turned = 0;
  page.words = words_of(*api_, turned);
  const bool upright = turned * 2 <= page.words.size();
  page.confidence = upright ? static_cast<float>(api_->MeanTextConf()) : 0;
  api_->Clear();
  return page;
}

}  // namespace quern::worker
