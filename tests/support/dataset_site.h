// A dataset on this machine: a landing page that describes its files as schema.org has it
// (https://schema.org/Dataset, https://schema.org/DataDownload), and the files.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "blob/digest.h"
#include "support/faulty_files.h"

namespace quern::support {

class DatasetSite {
 public:
  // Files of these sizes, named f0.bin, sub/f1.bin, …
  explicit DatasetSite(const std::vector<std::int64_t>& sizes) {
    std::string parts;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::string name = fmt::format("{}f{}.bin", i % 2 == 0 ? "" : "sub/", i);
      FaultyFile file;
      file.size = sizes[i];
      file.seed = i + 1;
      files_.put("/files/" + name, file);
      names_.push_back("/files/" + name);
      const std::string bytes = files_.contents("/files/" + name);
      const std::string sha256 = blob::hex_of(blob::sha256_of(bytes));
      parts += fmt::format(R"({}{{"@type":"DataDownload","name":"{}","contentUrl":"{}",)"
                           R"("contentSize":"{}","sha256":"{}"}})",
                           i == 0 ? "" : ",", name, files_.url("/files/" + name), sizes[i], sha256);
    }
    put_page("/set/1", fmt::format(R"({{"@context":"https://schema.org","@type":"Dataset",)"
                                   R"("name":"A set","distribution":[{}]}})",
                                   parts));
  }
  std::string url() const { return files_.url("/set/1"); }
  const std::vector<std::string>& names() const { return names_; }
  FaultyFiles& files() { return files_; }

  void put_page(const std::string& path, const std::string& json_ld) {
    FaultyFile page;
    page.content_type = "text/html";
    page.bytes =
        "<!DOCTYPE html><html><head><title>A set</title>"
        "<script type=\"application/ld+json\">" +
        json_ld + "</script></head><body>A set of files.</body></html>";
    files_.put(path, page);
  }

 private:
  FaultyFiles files_;
  std::vector<std::string> names_;
};

}  // namespace quern::support
