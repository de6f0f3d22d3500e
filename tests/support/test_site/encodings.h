// Hosts whose texts are in many encodings and codings, of many sizes, or no pages at all.
#pragma once

#include "support/test_site/host.h"

namespace quern::test_site {

// Encodings by header, by meta, by neither and against the header. expected().texts has what a
// reader of each page must see.
class CharsetHost : public TableHost {
 public:
  explicit CharsetHost(std::string name);

 protected:
  void expect(const std::string& authority, Expected& all) const override;

 private:
  struct Sample {
    const char* encoding;
    const char* label;  // as pages call it
    std::string words;
  };
  void add_sample(const Sample& sample);
  std::map<std::string, std::string> texts_;
};

// gzip, deflate, br, zstd; chunked; and a bomb of bomb_mebibytes (10,240).
class CodingHost : public TableHost {
 public:
  explicit CodingHost(std::string name);

 protected:
  void expect(const std::string& authority, Expected& all) const override;

 private:
  void coded(const std::string& target, const std::string& coding, std::string bytes);
  std::string page_of(const std::string& target) const;
};

// No bytes, a mebibyte, and more than a crawl takes.
class BodiesHost : public TableHost {
 public:
  explicit BodiesHost(std::string name);
};

// Files beside pages: a PDF of three pages, one that is broken, a zip, a docx, and what the list of
// suffixes leaves out. Settings: long_pdf, a PDF of so many pages, linked where it is not 0;
// url_bytes_max (2,048), the longest address that the crawl takes: two have 200 and 201 characters.
class FilesHost : public TableHost {
 public:
  explicit FilesHost(std::string name) : TableHost(std::move(name)) { fill(); }

 protected:
  void settings_changed() override { fill(); }
  Answer make(const Ask& ask) override;
  void expect(const std::string& authority, Expected& all) const override;

 private:
  void fill();
  void add_files();
};

}  // namespace quern::test_site
