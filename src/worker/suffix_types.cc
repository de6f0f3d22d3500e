// What names promise.
#include <algorithm>
#include <array>

#include "worker/sniff.h"

namespace quern::worker {
namespace {

struct SuffixType {
  std::string_view suffix;
  std::string_view type;
};
// In the order of suffixes.
constexpr std::array kSuffixes = {
    SuffixType{"awk", "application/x-awk"},
    SuffixType{"bat", "text/x-msdos-batch"},
    SuffixType{"bib", "application/x-bibtex-text-file"},
    SuffixType{"c", "text/x-c"},
    SuffixType{"cc", "text/x-c++"},
    SuffixType{"cer", "application/pkix-cert"},
    SuffixType{"cfg", "text/plain"},
    SuffixType{"conf", "text/plain"},
    SuffixType{"cpp", "text/x-c++"},
    SuffixType{"cs", "text/x-csharp"},
    SuffixType{"css", "text/css"},
    SuffixType{"csv", "text/csv"},
    SuffixType{"dbf", "application/x-dbf"},
    SuffixType{"diff", "text/x-diff"},
    SuffixType{"doc", "application/msword"},
    SuffixType{"docm", "application/vnd.ms-word.document.macroenabled.12"},
    SuffixType{"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    SuffixType{"dotx", "application/vnd.openxmlformats-officedocument.wordprocessingml.template"},
    SuffixType{"dtd", "application/xml-dtd"},
    SuffixType{"go", "text/x-go"},
    SuffixType{"gql", "application/graphql"},
    SuffixType{"h", "text/x-c"},
    SuffixType{"htm", "text/html"},
    SuffixType{"html", "text/html"},
    SuffixType{"ics", "text/calendar"},
    SuffixType{"ini", "application/x-wine-extension-ini"},
    SuffixType{"java", "text/x-java"},
    SuffixType{"js", "application/javascript"},
    SuffixType{"json", "application/json"},
    SuffixType{"jsonl", "application/x-ndjson"},
    SuffixType{"latex", "application/x-tex"},
    SuffixType{"log", "text/plain"},
    SuffixType{"lua", "application/x-lua"},
    SuffixType{"lzma", "application/x-lzma"},
    SuffixType{"m3u", "audio/x-mpegurl"},
    SuffixType{"markdown", "text/markdown"},
    SuffixType{"md", "text/markdown"},
    SuffixType{"msg", "application/vnd.ms-outlook"},
    SuffixType{"ndjson", "application/x-ndjson"},
    SuffixType{"org", "text/org"},
    SuffixType{"p12", "application/x-pkcs12"},
    SuffixType{"patch", "text/x-diff"},
    SuffixType{"pem", "application/x-pem-file"},
    SuffixType{"pfx", "application/x-pkcs12"},
    SuffixType{"php", "application/x-php"},
    SuffixType{"pl", "application/x-perl"},
    SuffixType{"pls", "audio/x-scpls"},
    SuffixType{"potx", "application/vnd.openxmlformats-officedocument.presentationml.template"},
    SuffixType{"ppsx", "application/vnd.openxmlformats-officedocument.presentationml.slideshow"},
    SuffixType{"ppt", "application/vnd.ms-powerpoint"},
    SuffixType{"pptm", "application/vnd.ms-powerpoint.presentation.macroenabled.12"},
    SuffixType{"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    SuffixType{"properties", "text/x-java-properties"},
    SuffixType{"ps1", "application/x-powershell"},
    SuffixType{"py", "application/x-python"},
    SuffixType{"rb", "application/x-ruby"},
    SuffixType{"rs", "text/rust"},
    SuffixType{"rst", "text/x-rst"},
    SuffixType{"sh", "application/x-shellscript"},
    SuffixType{"sql", "application/sql"},
    SuffixType{"srt", "application/x-subrip"},
    SuffixType{"tcl", "application/x-tcl"},
    SuffixType{"tex", "application/x-tex"},
    SuffixType{"text", "text/plain"},
    SuffixType{"tga", "image/x-tga"},
    SuffixType{"toml", "application/toml"},
    SuffixType{"ts", "application/typescript"},
    SuffixType{"tsv", "text/tab-separated-values"},
    SuffixType{"txt", "text/plain"},
    SuffixType{"vcf", "text/vcard"},
    SuffixType{"vtt", "text/vtt"},
    SuffixType{"xhtml", "application/xhtml+xml"},
    SuffixType{"xls", "application/vnd.ms-excel"},
    SuffixType{"xlsb", "application/vnd.ms-excel.sheet.binary.macroenabled.12"},
    SuffixType{"xlsm", "application/vnd.ms-excel.sheet.macroenabled.12"},
    SuffixType{"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    SuffixType{"xltx", "application/vnd.openxmlformats-officedocument.spreadsheetml.template"},
    SuffixType{"xml", "application/xml"},
    SuffixType{"xsl", "application/xml"},
    SuffixType{"yaml", "application/x-yaml"},
    SuffixType{"yml", "application/x-yaml"},
};

constexpr std::size_t kSuffixBytesMax = 16;

}  // namespace

std::string suffix_of(std::string_view filename) {
  const std::size_t slash = filename.rfind('/');
  if (slash != std::string_view::npos) filename.remove_prefix(slash + 1);
  const std::size_t dot = filename.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return "";
  std::string suffix(filename.substr(dot + 1));
  if (suffix.size() > kSuffixBytesMax) return "";
  for (char& c : suffix) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return suffix;
}

std::string_view type_of_suffix(std::string_view suffix) {
  const auto found = std::lower_bound(
      kSuffixes.begin(), kSuffixes.end(), suffix,
      [](const SuffixType& entry, std::string_view wanted) { return entry.suffix < wanted; });
  return found != kSuffixes.end() && found->suffix == suffix ? found->type : std::string_view();
}

bool is_text_type(std::string_view type) {
  constexpr std::array kOthers = {"application/graphql",
                                  "application/javascript",
                                  "application/json",
                                  "application/pgp-keys",
                                  "application/sql",
                                  "application/toml",
                                  "application/typescript",
                                  "application/x-awk",
                                  "application/x-bibtex-text-file",
                                  "application/x-lua",
                                  "application/x-ndjson",
                                  "application/x-pem-file",
                                  "application/x-perl",
                                  "application/x-php",
                                  "application/x-powershell",
                                  "application/x-python",
                                  "application/x-ruby",
                                  "application/x-shellscript",
                                  "application/x-subrip",
                                  "application/x-tcl",
                                  "application/x-tex",
                                  "application/x-troff",
                                  "application/x-wine-extension-ini",
                                  "application/x-yaml",
                                  "application/xhtml+xml",
                                  "application/xml",
                                  "application/xml-dtd",
                                  "audio/x-mpegurl",
                                  "audio/x-scpls",
                                  "message/rfc822",
                                  "message/news"};
  return type.starts_with("text/") ||
         std::find(kOthers.begin(), kOthers.end(), type) != kOthers.end();
}

}  // namespace quern::worker
