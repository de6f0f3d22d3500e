// Office: documents, sheets and slides become a PDF, which the Pdf step reads.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>

#include "base/utf8.h"
#include "io/descriptor.h"
#include "model/steps.h"
#include "worker/box_root.h"
#include "worker/charset.h"
#include "worker/confine.h"
#include "worker/flat_sheet.h"
#include "worker/magic.h"
#include "worker/office.h"
#include "worker/office_pdf.h"
#include "worker/scratch_file.h"
#include "worker/sniff.h"
#include "worker/steps.h"
#include "worker/text_decode.h"

namespace quern::worker {
namespace {

using model::ErrorKind;

constexpr std::int64_t kWallMs = 90'000;
constexpr std::uint64_t kInputBytesMax = 512ULL << 20;
constexpr std::uint64_t kPdfBytesMax = 512ULL << 20;
// A longer table makes more pages than anybody reads, and takes all memory on the way.
constexpr std::uint64_t kTableBytesMax = 2ULL << 20;

std::string version() {
  const std::string office = office_version();
  return office.empty() ? "" : "1 libreoffice " + office;
}

std::string scratch(std::string_view name) {
  return fmt::format("{}/{}", kScratchFolder, name);
}

void warm() {
  warm_magic();
  warm_charsets();
}

void begin() {
  const std::string kept = scratch(kKeptFolder);
  ::mkdir(kept.c_str(), 0700);
  start_office(kept);
}

// A suffix by which LibreOffice knows the kind; what it does not need one for gets none.
std::string suffix_for(std::string_view type, std::string_view filename) {
  const std::string suffix = suffix_of(filename);
  if (model::canonical_type(type_of_suffix(suffix)) == type) return suffix;
  constexpr std::pair<std::string_view, std::string_view> kSuffixes[] = {
      {"text/csv", "csv"},
      {"text/tab-separated-values", "tsv"},
      {"application/rtf", "rtf"},
      {"application/msword", "doc"},
      {"application/vnd.ms-excel", "xls"},
      {"application/vnd.ms-powerpoint", "ppt"},
      {"application/vnd.oasis.opendocument.text", "odt"},
      {"application/vnd.oasis.opendocument.spreadsheet", "ods"},
      {"application/vnd.oasis.opendocument.presentation", "odp"},
      {"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"},
      {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"},
      {"application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"}};
  for (const auto& [of, known] : kSuffixes) {
    if (of == type) return std::string(known);
  }
  const bool plain =
      !suffix.empty() && suffix.size() <= 8 && std::ranges::all_of(suffix, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      });
  return plain ? suffix : "bin";
}

bool is_table_of_text(std::string_view type) {
  return type == "text/csv" || type == "text/tab-separated-values";
}

std::optional<Failure> write_file(const std::string& path, std::string_view bytes) {
  const io::Descriptor file(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
  if (file.is_open() && write_at(file, 0, bytes).ok()) return std::nullopt;
  return Failure{ErrorKind::TooLarge, "it does not fit into the box"};
}

// In UTF-8, whatever it came in; cut at the end of a line.
std::optional<Failure> write_table(const std::string& bytes, OfficeOrder& order) {
  std::string text = decode_text(bytes, kTableBytesMax).text;
  bool was_cut = bytes.size() >= kTableBytesMax;
  if (was_cut && text.rfind('\n') != std::string::npos) text.resize(text.rfind('\n') + 1);
  const FlatSheet sheet = flat_sheet(text, separator_of(text));
  was_cut = was_cut || sheet.was_cut;
  if (was_cut) std::fprintf(stderr, "the table is cut after %zu bytes\n", text.size());
  order.input = scratch("in.fods");
  return write_file(order.input, sheet.xml);
}

std::string with_sheets(const std::string& metadata, const std::vector<std::string>& sheets) {
  boost::system::error_code failed;
  boost::json::value value = boost::json::parse(metadata, failed);
  if (sheets.empty() || failed || !value.is_object()) return metadata;
  value.get_object()["Sheets"] = valid_utf8(fmt::format("{}", fmt::join(sheets, ", ")));
  return boost::json::serialize(value);
}

// What it is by its bytes: LibreOffice would make pages of anything.
std::optional<Failure> refuse_others(const StepContext& context, const std::string& type) {
  if (model::step_for_type(type, model::Ocr::No) == model::StepId::Office) return std::nullopt;
  if (type.starts_with("text/") &&
      is_table_of_text(model::canonical_type(context.task.content_type))) {
    return std::nullopt;
  }
  return Failure{ErrorKind::Corrupt,
                 fmt::format("it is no office document: its bytes are {}", type)};
}

struct Task {
  std::string type;
  OfficeOrder order;
};

std::optional<Failure> prepare(const StepContext& context, Task& task) {
  const StepInput& input = context.inputs.at(0);
  StepInput named = input;
  named.filename = context.task.filename;
  const Sample sample(named);
  task.type = sniffed_type(sample, magic_type(named));
  if (auto other = refuse_others(context, task.type)) return other;
  if (is_encrypted_package(sample)) return Failure{ErrorKind::Encrypted, "it needs a password"};
  const bool table = is_table_of_text(task.type) || task.type.starts_with("text/");
  if (!table && input.bytes > kInputBytesMax) {
    return Failure{ErrorKind::TooLarge,
                   fmt::format("it is larger than {} MiB", kInputBytesMax >> 20)};
  }
  const std::string bytes = read_input(input, table ? kTableBytesMax : kInputBytesMax);
  task.order.input = scratch("in." + suffix_for(task.type, context.task.filename));
  task.order.output = scratch("out.pdf");
  return table ? write_table(bytes, task.order) : write_file(task.order.input, bytes);
}

StepEnd run(StepContext& context) {
  Task task;
  if (auto failure = prepare(context, task)) return failure;
  OfficeMade office;
  if (auto failure = office_to_pdf(task.order, office)) return failure;
  const io::Descriptor made(::open(task.order.output.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!made.is_open() || ::fstat(made.get(), &about) != 0 || about.st_size == 0) {
    return Failure{ErrorKind::Corrupt, "LibreOffice made no PDF of it"};
  }
  StepInput output;
  output.descriptor = made.get();
  output.bytes = static_cast<std::uint64_t>(about.st_size);
  if (output.bytes > kPdfBytesMax) return Failure{ErrorKind::TooLarge, "its PDF is too large"};
  std::string pdf = read_input(output, kPdfBytesMax);
  if (!pdf.starts_with("%PDF-")) {
    return Failure{ErrorKind::Corrupt, "LibreOffice made no PDF of it"};
  }
  forget_when_made(pdf);
  const ChildFields child{context.task.filename, "application/pdf", false};
  StepTask told = context.task;
  told.metadata = with_sheets(told.metadata, office.sheets);
  context.out.part("0.json", child_json(told, child));
  context.out.part("0.blob", pdf);
  return std::nullopt;
}

}  // namespace

Step office_step() {
  Step step{"Office", version, warm, run, 1, kWallMs};
  step.threads = Threads::Allowed;
  step.begin = begin;
  return step;
}

}  // namespace quern::worker
