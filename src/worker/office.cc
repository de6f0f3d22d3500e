#include "worker/office.h"

#define LOK_USE_UNSTABLE_API
#include <LibreOfficeKit/LibreOfficeKit.h>
#include <LibreOfficeKit/LibreOfficeKitEnums.h>
#include <LibreOfficeKit/LibreOfficeKitInit.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "model/error_kind.h"

namespace quern::worker {
namespace {

constexpr char kProgram[] = "/usr/lib/libreoffice/program";

LibreOfficeKit* running = nullptr;

std::string url_of(const std::string& path) {
  return "file://" + path;
}

// What it says of why it did not.
std::string last_error() {
  char* text = running->pClass->getError(running);
  std::string said = text != nullptr ? text : "";
  if (text != nullptr) running->pClass->freeError(text);
  return said;
}

Failure failure_of(const std::string& said) {
  if (said.find("assword") != std::string::npos) {
    return {model::ErrorKind::Encrypted, "it needs a password"};
  }
  std::fprintf(stderr, "LibreOffice: %s\n", said.c_str());
  return {model::ErrorKind::Corrupt,
          "LibreOffice cannot read it: it is damaged or not what it "
          "claims to be"};
}

// What people wrote beside the text: comments, and the notes of slides on pages of their own.
constexpr char kPdfOptions[] = R"({"ExportNotes":{"type":"boolean","value":"true"},)"
                               R"("ExportNotesPages":{"type":"boolean","value":"true"}})";
constexpr int kSheetsMax = 1000;

std::vector<std::string> names_of_sheets(LibreOfficeKitDocument* document) {
  std::vector<std::string> names;
  if (document->pClass->getDocumentType(document) != LOK_DOCTYPE_SPREADSHEET) return names;
  const int sheets = std::min(document->pClass->getParts(document), kSheetsMax);
  for (int i = 0; i < sheets; ++i) {
    char* name = document->pClass->getPartName(document, i);
    if (name == nullptr) continue;
    names.emplace_back(name);
    std::free(name);
  }
  return names;
}

struct Document {
  explicit Document(LibreOfficeKitDocument* loaded) : it(loaded) {}
  ~Document() {
    if (it != nullptr) it->pClass->destroy(it);
  }
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;
  LibreOfficeKitDocument* it;
};

}  // namespace

std::string office_version() {
  std::ifstream file(std::string(kProgram) + "/versionrc");
  std::string line;
  while (std::getline(file, line)) {
    constexpr std::string_view kKey = "buildid=";
    if (line.starts_with(kKey)) return line.substr(kKey.size());
  }
  return "";
}

void start_office(const std::string& profile) {
  ::setenv("SAL_USE_VCLPLUGIN", "svp", 1);  // no screen
  ::setenv("SAL_DISABLE_OPENCL", "1", 1);
  for (const char* name : {"HOME", "TMP", "TEMP", "TMPDIR"}) ::setenv(name, profile.c_str(), 1);
  running = lok_init_2(kProgram, url_of(profile + "/user").c_str());
}

std::optional<Failure> office_to_pdf(const OfficeOrder& order, OfficeMade& made) {
  if (running == nullptr) {
    return Failure{model::ErrorKind::Internal, "LibreOffice did not start"};
  }
  const std::string url = url_of(order.input);
  // Nobody is there to answer a dialogue.
  const Document document(
      running->pClass->documentLoadWithOptions(running, url.c_str(), "Batch=true"));
  if (document.it == nullptr) return failure_of(last_error());
  made.sheets = names_of_sheets(document.it);
  const std::string to = url_of(order.output);
  if (document.it->pClass->saveAs(document.it, to.c_str(), "pdf", kPdfOptions) == 0) {
    return failure_of(last_error());
  }
  return std::nullopt;
}

}  // namespace quern::worker
