#include "support/test_site/encodings.h"

#include <fmt/format.h>

#include "support/test_site/compress.h"

namespace quern::test_site {
namespace {

constexpr std::uint64_t kBombMebibytes = 10'240;
constexpr std::size_t kMebibyte = 1024 * 1024;
constexpr std::uint64_t kHugeMebibytes = 70;
constexpr std::int64_t kUrlBytesMax = 2048;
constexpr std::size_t kUrlBytesTaken = 200;  // row A17

std::string page_in(const std::string& words, const std::string& meta) {
  return render({.title = "Charset",
                 .text = words,
                 .head = meta.empty() ? "" : "<meta charset=\"" + meta + "\">\n"});
}

Answer html_bytes(const std::string& charset, std::string bytes) {
  return typed_answer(charset.empty() ? "text/html" : "text/html; charset=" + charset,
                      std::move(bytes));
}

}  // namespace

// -- charset.test --

CharsetHost::CharsetHost(std::string name) : TableHost(std::move(name)) {
  const std::string russian = "Широкая электрификация южных губерний даст мощный толчок";
  const std::string japanese = "いろはにほへと散りぬるを我が世誰ぞ常ならむ";
  const std::string chinese = "天地玄黄宇宙洪荒日月盈昃辰宿列张";
  const std::string german = "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich";
  for (const Sample& sample :
       {Sample{"WINDOWS-1251", "windows-1251", russian}, Sample{"KOI8-R", "koi8-r", russian},
        Sample{"SHIFT_JIS", "Shift_JIS", japanese}, Sample{"EUC-JP", "euc-jp", japanese},
        Sample{"GBK", "gbk", chinese}, Sample{"GB18030", "gb18030", chinese},
        Sample{"ISO-8859-1", "iso-8859-1", german}, Sample{"UTF-8", "utf-8", german}})
    add_sample(sample);
  const auto fixed = [&](const std::string& target, const std::string& words, Answer answer) {
    texts_[target] = words;
    add(target, Fate::Document, [answer](const Ask&) { return answer; });
  };
  fixed("/utf16le-bom", russian,
        html_bytes("", "\xFF\xFE" + converted(page_in(russian, ""), "UTF-16LE")));
  fixed("/utf16be-header", russian,
        html_bytes("utf-16be", converted(page_in(russian, ""), "UTF-16BE")));
  fixed("/utf8-bom", german, html_bytes("iso-8859-1", "\xEF\xBB\xBF" + page_in(german, "")));
  // The header counts more than the page, as in browsers.
  fixed("/header-over-meta", russian,
        html_bytes("windows-1251", converted(page_in(russian, "utf-8"), "WINDOWS-1251")));
  fixed("/unknown-label", german, html_bytes("x-no-such-thing", page_in(german, "utf-8")));
  page("/", Fate::Document, {.title = "Charsets", .text = "charsetroot", .links = targets()});
}

void CharsetHost::add_sample(const Sample& sample) {
  const std::string label = sample.label;
  const auto put = [&](const std::string& way, const std::string& header, const std::string& meta) {
    const std::string target = "/" + label + "-" + way;
    texts_[target] = sample.words;
    Answer answer = html_bytes(header, converted(page_in(sample.words, meta), sample.encoding));
    add(target, Fate::Document, [answer](const Ask&) { return answer; });
  };
  put("header", label, "");
  put("meta", "", label);
  put("both", label, label);
  // By nobody: a reader has to guess, and may guess wrong where the text is short.
  put("neither", "", "");
  if (label != "utf-8" && label != "windows-1251" && label != "Shift_JIS")
    texts_.erase("/" + label + "-neither");
}

void CharsetHost::expect(const std::string& authority, Expected& all) const {
  TableHost::expect(authority, all);
  all.texts = texts_;
}

// -- coding.test --

std::string CodingHost::page_of(const std::string& target) const {
  return render({.title = "Coded", .text = "codingword" + target.substr(1) + " " + filler(7, 300)});
}

void CodingHost::coded(const std::string& target, const std::string& coding, std::string bytes) {
  add(target, Fate::Document, [coding, bytes = std::move(bytes)](const Ask&) {
    Answer answer = html_bytes("utf-8", bytes);
    if (!coding.empty()) answer.headers.set("Content-Encoding", coding);
    return answer;
  });
}

CodingHost::CodingHost(std::string name) : TableHost(std::move(name)) {
  coded("/identity", "", page_of("/identity"));
  coded("/gzip", "gzip", deflated(page_of("/gzip"), Deflate::Gzip));
  coded("/xgzip", "x-gzip", deflated(page_of("/xgzip"), Deflate::Gzip));
  coded("/deflate", "deflate", deflated(page_of("/deflate"), Deflate::Zlib));
  coded("/rawdeflate", "deflate", deflated(page_of("/rawdeflate"), Deflate::Raw));
  coded("/br", "br", brotli(page_of("/br")));
  coded("/zstd", "zstd", zstd(page_of("/zstd")));
  const std::string two = page_of("/twomembers");
  coded("/twomembers", "gzip",
        deflated(two.substr(0, 900), Deflate::Gzip) + deflated(two.substr(900), Deflate::Gzip));
  for (const char* target : {"/chunked", "/gzipchunked"}) {
    add(target, Fate::Document, [this](const Ask& ask) {
      const bool gzip = ask.target == "/gzipchunked";
      const std::string text = page_of(ask.target);
      Answer answer = html_bytes("utf-8", gzip ? deflated(text, Deflate::Gzip) : text);
      if (gzip) answer.headers.set("Content-Encoding", "gzip");
      answer.manner = Manner::Chunked;
      return answer;
    });
  }
  coded("/bad", "gzip", "this is no gzip");
  coded("/cut", "gzip", deflated(page_of("/cut"), Deflate::Gzip).substr(0, 100));
  add("/bomb", Fate::Fetched, [this](const Ask&) {
    const Bomb bomb =
        gzip_bomb(static_cast<std::uint64_t>(number("bomb_mebibytes", kBombMebibytes)));
    Answer answer = html_bytes("utf-8", bomb.head);
    answer.piece = bomb.block;
    answer.pieces = bomb.blocks;
    answer.tail = bomb.tail;
    answer.headers.set("Content-Encoding", "gzip");
    answer.validators = false;
    return answer;
  });
  page("/", Fate::Document, {.title = "Codings", .text = "codingroot", .links = targets()});
}

void CodingHost::expect(const std::string& authority, Expected& all) const {
  TableHost::expect(authority, all);
  for (const char* broken : {"/bad", "/cut"}) all.documents.erase(broken);
  for (const std::string& target : all.documents)
    if (target != "/") all.texts[target] = "codingword" + target.substr(1);
}

// -- bodies.test --

BodiesHost::BodiesHost(std::string name) : TableHost(std::move(name)) {
  add("/empty", Fate::Document, [](const Ask&) { return html_bytes("utf-8", ""); });
  add("/1m", Fate::Document, [](const Ask&) {
    Answer answer = html_bytes("utf-8", "<!DOCTYPE html><title>Large</title><p>bodieslarge\n");
    answer.piece = "<p>" + filler(1, 170) + "\n";
    answer.pieces = kMebibyte / answer.piece.size() + 1;
    return answer;
  });
  const auto huge = [](Manner manner) {
    return [manner](const Ask&) {
      Answer answer = html_bytes("utf-8", "<!DOCTYPE html><title>Huge</title><p>bodieshuge\n");
      answer.piece.assign(kMebibyte, 'x');
      answer.pieces = kHugeMebibytes;
      answer.manner = manner;
      answer.validators = false;
      return answer;
    };
  };
  add("/70m", Fate::Fetched, huge(Manner::Chunked));
  add("/70m-known", Fate::Fetched, huge(Manner::Whole));
  page("/", Fate::Document, {.title = "Bodies", .text = "bodiesroot", .links = targets()});
}

// -- files.test --

void FilesHost::add_files() {
  const auto file = [this](const std::string& target, Fate fate, const char* type,
                           std::string bytes) {
    add(target, fate,
        [type, bytes = std::move(bytes)](const Ask&) { return typed_answer(type, bytes); });
  };
  file("/three.pdf", Fate::Document, "application/pdf", make_pdf({"P1", "P2", "P3"}));
  std::string corrupt = make_pdf({"P1", "P2"});
  corrupt = corrupt.substr(0, 40) + std::string(300, '\x07');
  file("/corrupt.pdf", Fate::Fetched, "application/pdf", corrupt);
  // Of a type that nobody told.
  file("/download?id=7", Fate::Document, "application/octet-stream", make_pdf({"filesdownload"}));
  file("/pack.zip", Fate::Document, "application/zip",
       make_zip({{"one.txt", "fileszipone\n"}, {"two.txt", "fileszipÄtwo\n"}}));
  // An office file is wanted, but the list of row A17 has its suffix.
  file("/letter.docx", Fate::Maybe,
       "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
       make_docx("filesdocx"));
  const std::int64_t pages = number("long_pdf", 0);
  if (pages > 0) {
    std::vector<std::string> texts;
    for (std::int64_t i = 1; i <= pages; ++i) texts.push_back(fmt::format("longpage{}", i));
    file("/long.pdf", Fate::Document, "application/pdf", make_pdf(texts));
  }
}

void FilesHost::fill() {
  clear();
  add_files();
  for (const char* target : {"/wikidoc", "/price$5", "/name.with.dots"})
    leaf(target, Fate::Document, std::string("filespage") + target);
  for (const char* target : {"/a.JPG", "/b.jpeg", "/c.png", "/d.gif", "/e.mp3", "/f.mov", "/g.svg",
                             "/h.webp", "/style.css", "/script.js", "/picture.jpg"})
    never(target);
}

Answer FilesHost::make(const Ask& ask) {
  // Addresses of 200 and of 201 characters, as a whole.
  const auto padded = [&](std::size_t bytes) {
    return "/" + std::string(bytes - ask.absolute("/").size(), 'u');
  };
  if (ask.target == "/") {
    Html html{.title = "Files", .text = "filesroot"};
    html.head =
        "<link rel=\"stylesheet\" href=\"/style.css\">\n<script src=\"/script.js\"></script>\n";
    html.more = "<img src=\"/picture.jpg\" alt=\"a picture\">\n";
    for (const std::string& target : targets())
      if (target != "/style.css" && target != "/script.js" && target != "/picture.jpg")
        html.links.push_back(target);
    html.links.push_back(padded(kUrlBytesTaken));
    html.links.push_back(padded(kUrlBytesTaken + 1));
    return html_answer(html);
  }
  if (ask.target.starts_with("/uuuu")) return html_answer({.title = "Long", .text = "fileslong"});
  return TableHost::make(ask);
}

void FilesHost::expect(const std::string& authority, Expected& all) const {
  TableHost::expect(authority, all);
  const std::size_t before = std::string("http:///").size() + authority.size();
  all.add("/", Fate::Document);
  for (const std::size_t bytes : {kUrlBytesTaken, kUrlBytesTaken + 1}) {
    const bool taken = static_cast<std::int64_t>(bytes) <= number("url_bytes_max", kUrlBytesMax);
    all.add("/" + std::string(bytes - before, 'u'), taken ? Fate::Document : Fate::Never);
  }
}

}  // namespace quern::test_site
