#include "model/type_table.h"

namespace quern::model {
namespace {

constexpr TypesOfStep kTypes[] = {
    {StepId::Archive,
     "application/gzip application/java-archive application/vnd.android.package-archive "
     "application/vnd.debian.binary-package application/vnd.ms-cab-compressed application/vnd.rar "
     "application/x-7z-compressed application/x-archive application/x-bzip2 "
     "application/x-bzip2-compressed-tar application/x-compress application/x-compressed-tar "
     "application/x-cpio application/x-iso9660-image application/x-lz4 "
     "application/x-lz4-compressed-tar application/x-lzh-compressed application/x-lzip "
     "application/x-lzip-compressed-tar application/x-lzma application/x-lzma-compressed-tar "
     "application/x-rpm application/x-tar application/x-tarz application/x-xar application/x-xz "
     "application/x-xz-compressed-tar application/x-zstd-compressed-tar application/zip "
     "application/zstd"},
    {StepId::Email, "message/rfc822 message/x-emlx"},
    {StepId::Mbox, "application/mbox"},
    {StepId::Msg, "application/vnd.ms-outlook application/vnd.ms-tnef"},
    {StepId::Pst, "application/vnd.ms-outlook-pst"},
    {StepId::Html,
     "application/vnd.wap.xhtml+xml application/xhtml+xml multipart/related text/html"},
    {StepId::Image,
     "image/avif image/bmp image/gif image/heic image/heif image/jp2 image/jpeg image/jpm "
     "image/jpx "
     "image/jxl image/png image/svg+xml image/svg+xml-compressed image/tiff "
     "image/vnd.adobe.photoshop image/vnd.microsoft.icon image/vnd.zbrush.pcx image/webp "
     "image/x-portable-anymap image/x-portable-bitmap image/x-portable-graymap "
     "image/x-portable-pixmap image/x-tga"},
    {StepId::Ebook,
     "application/epub+zip application/oxps application/vnd.amazon.mobi8-ebook "
     "application/vnd.comicbook+zip application/vnd.ms-xpsdocument application/x-fictionbook+xml "
     "application/x-mobipocket-ebook"},
    {StepId::Audio, "application/vnd.ms-asf application/vnd.rn-realmedia"},
    {StepId::Text,
     "application/ecmascript application/graphql application/javascript application/json "
     "application/pgp-encrypted application/pgp-keys application/pgp-signature application/sql "
     "application/toml application/typescript application/x-awk application/x-bibtex-text-file "
     "application/x-csh application/x-desktop application/x-endnote-refer application/x-lua "
     "application/x-m4 application/x-ndjson application/x-pem-file application/x-perl "
     "application/x-php application/x-powershell application/x-python application/x-ruby "
     "application/x-shellscript application/x-subrip application/x-tcl application/x-tex "
     "application/x-troff application/x-wine-extension-ini application/x-yaml application/xml "
     "application/xml-dtd audio/x-mpegurl audio/x-scpls message/delivery-status "
     "message/disposition-notification message/feedback-report"},
    {StepId::Office,
     "application/clarisworks application/macwriteii application/msword application/prs.plucker "
     "application/rtf application/x-abiword application/x-aportisdoc application/x-dbf "
     "application/x-extension-txt application/x-gnumeric application/x-hwp application/x-mswrite "
     "application/x-quattropro application/x-t602 application/x-wpg image/emf image/wmf "
     "image/x-freehand text/csv text/tab-separated-values"},
    {StepId::Office,
     "application/vnd.apple.keynote application/vnd.apple.numbers application/vnd.apple.pages "
     "application/vnd.corel-draw application/vnd.lotus-1-2-3 application/vnd.lotus-wordpro "
     "application/vnd.ms-excel application/vnd.ms-powerpoint application/vnd.ms-publisher "
     "application/vnd.ms-works application/vnd.palm application/vnd.stardivision.calc "
     "application/vnd.stardivision.draw application/vnd.stardivision.impress "
     "application/vnd.stardivision.writer application/vnd.stardivision.writer-global "
     "application/vnd.visio application/vnd.wordperfect"},
    {StepId::Office,
     "application/vnd.ms-excel.addin.macroenabled.12 "
     "application/vnd.ms-excel.sheet.binary.macroenabled.12 "
     "application/vnd.ms-excel.sheet.macroenabled.12 "
     "application/vnd.ms-excel.template.macroenabled.12 "
     "application/vnd.ms-powerpoint.addin.macroenabled.12 "
     "application/vnd.ms-powerpoint.presentation.macroenabled.12 "
     "application/vnd.ms-powerpoint.slide.macroenabled.12 "
     "application/vnd.ms-powerpoint.slideshow.macroenabled.12 "
     "application/vnd.ms-powerpoint.template.macroenabled.12 application/vnd.ms-visio.drawing "
     "application/vnd.ms-visio.drawing.macroenabled application/vnd.ms-visio.stencil "
     "application/vnd.ms-visio.stencil.macroenabled application/vnd.ms-visio.template "
     "application/vnd.ms-visio.template.macroenabled "
     "application/vnd.ms-word.document.macroenabled.12 "
     "application/vnd.ms-word.template.macroenabled.12"},
    {StepId::Office,
     "application/vnd.oasis.opendocument.chart application/vnd.oasis.opendocument.chart-template "
     "application/vnd.oasis.opendocument.formula "
     "application/vnd.oasis.opendocument.graphics "
     "application/vnd.oasis.opendocument.graphics-flat-xml "
     "application/vnd.oasis.opendocument.graphics-template "
     "application/vnd.oasis.opendocument.presentation "
     "application/vnd.oasis.opendocument.presentation-flat-xml "
     "application/vnd.oasis.opendocument.presentation-template "
     "application/vnd.oasis.opendocument.spreadsheet "
     "application/vnd.oasis.opendocument.spreadsheet-flat-xml "
     "application/vnd.oasis.opendocument.spreadsheet-template "
     "application/vnd.oasis.opendocument.text application/vnd.oasis.opendocument.text-flat-xml "
     "application/vnd.oasis.opendocument.text-master "
     "application/vnd.oasis.opendocument.text-template "
     "application/vnd.oasis.opendocument.text-web"},
    {StepId::Office,
     "application/vnd.openxmlformats-officedocument.presentationml.presentation "
     "application/vnd.openxmlformats-officedocument.presentationml.slide "
     "application/vnd.openxmlformats-officedocument.presentationml.slideshow "
     "application/vnd.openxmlformats-officedocument.presentationml.template "
     "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet "
     "application/vnd.openxmlformats-officedocument.spreadsheetml.template "
     "application/vnd.openxmlformats-officedocument.wordprocessingml.document "
     "application/vnd.openxmlformats-officedocument.wordprocessingml.template"},
    {StepId::Office,
     "application/vnd.sun.xml.calc application/vnd.sun.xml.calc.template "
     "application/vnd.sun.xml.draw application/vnd.sun.xml.draw.template "
     "application/vnd.sun.xml.impress application/vnd.sun.xml.impress.template "
     "application/vnd.sun.xml.writer application/vnd.sun.xml.writer.global "
     "application/vnd.sun.xml.writer.template"},
};

constexpr AliasesOfType kAliases[] = {
    {"application/epub+zip", "application/epub application/x-epub+zip"},
    {"application/gzip",
     "application/gzip-compressed application/gzipped application/x-gunzip application/x-gzip "
     "application/x-gzip-compressed gzip/document"},
    {"application/java-archive",
     "application/jar application/x-jar application/x-java-archive application/x-java-jar"},
    {"application/javascript", "application/x-javascript text/javascript text/x-javascript"},
    {"video/mj2", "image/mj2"},
    {"application/json", "application/x-json text/json text/x-json"},
    {"application/mbox", "application/x-mbox text/x-mbox"},
    {"application/msword",
     "application/doc application/vnd.ms-word application/vnd.msword application/winword "
     "application/word application/x-doc application/x-msword zz-application/zz-winassoc-doc"},
    {"application/pdf", "application/acrobat application/x-pdf image/pdf"},
    {"application/rtf", "application/x-rtf text/richtext text/rtf"},
    {"application/sql", "application/x-sql text/x-sql"},
    {"application/vnd.amazon.mobi8-ebook", "application/x-mobi8-ebook"},
    {"application/vnd.android.package-archive", "application/apk"},
    {"application/vnd.apple.keynote", "application/x-iwork-keynote-sffkey"},
    {"application/vnd.apple.numbers", "application/x-iwork-numbers-sffnumbers"},
    {"application/vnd.apple.pages", "application/x-iwork-pages-sffpages"},
    {"application/vnd.comicbook+zip", "application/x-cbz"},
    {"application/vnd.corel-draw",
     "application/cdr application/coreldraw application/x-cdr application/x-coreldraw image/cdr "
     "image/x-cdr zz-application/zz-winassoc-cdr"},
    {"application/vnd.debian.binary-package",
     "application/x-deb application/x-debian-package application/x-debian-archive"},
    {"application/vnd.lotus-1-2-3",
     "application/lotus123 application/wk1 application/x-123 application/x-lotus123 "
     "zz-application/zz-winassoc-123"},
    {"application/vnd.ms-asf", "video/x-ms-asf"},
    {"application/vnd.ms-cab-compressed",
     "application/x-cab application/x-cab-compressed "
     "zz-application/zz-winassoc-cab"},
    {"application/vnd.ms-excel",
     "application/excel application/msexcel application/x-dos_ms_excel application/x-excel "
     "application/x-ms-excel application/x-msexcel application/x-xls application/xls "
     "zz-application/zz-winassoc-xls"},
    {"application/vnd.ms-outlook", "application/x-msg"},
    {"application/vnd.ms-outlook-pst", "application/x-outlook-pst"},
    {"application/vnd.ms-powerpoint",
     "application/mspowerpoint application/powerpoint application/x-mspowerpoint"},
    {"application/vnd.ms-publisher", "application/x-mspublisher"},
    {"application/vnd.ms-tnef", "application/ms-tnef"},
    {"application/vnd.ms-visio.drawing", "application/vnd.ms-visio.drawing.main+xml"},
    {"application/vnd.ms-visio.drawing.macroenabled",
     "application/vnd.ms-visio.drawing.macroenabled.12 "
     "application/vnd.ms-visio.drawing.macroenabled.main+xml"},
    {"application/vnd.ms-visio.stencil", "application/vnd.ms-visio.stencil.main+xml"},
    {"application/vnd.ms-visio.stencil.macroenabled",
     "application/vnd.ms-visio.stencil.macroenabled.12 "
     "application/vnd.ms-visio.stencil.macroenabled.main+xml"},
    {"application/vnd.ms-visio.template", "application/vnd.ms-visio.template.main+xml"},
    {"application/vnd.ms-visio.template.macroenabled",
     "application/vnd.ms-visio.template.macroenabled.12 "
     "application/vnd.ms-visio.template.macroenabled.main+xml"},
    {"application/vnd.ms-xpsdocument", "application/xps"},
    {"application/vnd.oasis.opendocument.graphics-flat-xml",
     "application/vnd.oasis.opendocument.flat.graphics"},
    {"application/vnd.oasis.opendocument.presentation-flat-xml",
     "application/vnd.oasis.opendocument.flat.presentation"},
    {"application/vnd.oasis.opendocument.spreadsheet-flat-xml",
     "application/vnd.oasis.opendocument.flat.spreadsheet"},
    {"application/vnd.oasis.opendocument.text-flat-xml",
     "application/vnd.oasis.opendocument.flat.text"},
    {"application/vnd.rar",
     "application/rar application/x-rar application/x-rar-compressed "
     "application/x-rar-compressed-v5"},
    {"application/vnd.rn-realmedia", "application/vnd.rn-realmedia-vbr"},
    {"application/vnd.visio", "application/visio application/vnd.ms-visio application/x-visio"},
    {"application/vnd.wordperfect",
     "application/wordperfect application/wordperfect5.1 application/wpd "
     "application/x-wordperfect"},
    {"application/x-7z-compressed", "application/7z application/x-7zip"},
    {"application/x-archive", "application/x-unix-archive"},
    {"application/x-bibtex-text-file", "application/x-bibtex text/x-bibtex"},
    {"application/x-bzip2",
     "application/bzip application/bzip2 application/x-bz2 application/x-bzip"},
    {"application/x-bzip2-compressed-tar",
     "application/x-bzip-compressed-tar application/x-tbz application/x-tbz2"},
    {"application/x-compress", "application/compress application/x-z"},
    {"application/x-compressed-tar",
     "application/x-gtar-compressed application/x-targz application/x-tgz"},
    {"application/x-cpio", "application/cpio"},
    {"application/x-dbf", "application/dbase application/dbf application/x-dbase"},
    {"application/x-fictionbook+xml", "application/x-fictionbook text/fb2+xml"},
    {"application/x-iso9660-image", "application/vnd.efi.iso application/x-cd-image"},
    {"application/x-lz4", "application/lz4"},
    {"application/x-lzh-compressed", "application/x-lha application/x-lzh"},
    {"application/x-lzma", "application/lzma"},
    {"application/x-mobipocket-ebook", "application/vnd.amazon.ebook"},
    {"application/x-ndjson", "application/jsonl application/jsonlines application/ndjson"},
    {"application/x-perl", "text/x-perl"},
    {"application/x-php", "application/x-httpd-php text/x-php"},
    {"application/x-powershell", "text/x-powershell"},
    {"application/x-python", "application/x-python-code text/x-python text/x-script.python"},
    {"application/x-quattropro", "application/x-quattro-pro"},
    {"application/x-rpm", "application/x-redhat-package-manager"},
    {"application/x-ruby", "text/x-ruby"},
    {"application/x-shellscript", "application/x-sh text/x-sh text/x-shellscript"},
    {"application/x-subrip", "text/srt text/x-srt"},
    {"application/x-tar", "application/tar application/x-gtar application/x-ustar"},
    {"application/x-tex", "application/x-latex text/x-tex"},
    {"application/x-troff", "application/x-troff-man application/x-troff-ms text/troff"},
    {"application/x-xz", "application/xz"},
    {"application/x-yaml", "application/yaml text/x-yaml text/yaml"},
    {"application/xml", "text/xml text/x-xml"},
    {"application/zip", "application/x-zip application/x-zip-compressed multipart/x-zip"},
    {"application/zstd", "application/x-zst application/x-zstd"},
    {"audio/aac", "audio/x-aac audio/x-hx-aac-adts"},
    {"audio/aiff", "audio/x-aiff"},
    {"audio/flac", "application/x-flac audio/x-flac"},
    {"audio/midi", "audio/x-midi"},
    {"audio/mp4", "audio/m4a audio/x-m4a audio/x-mp4"},
    {"audio/mpeg", "audio/mp3 audio/mpeg3 audio/x-mp3 audio/x-mpeg audio/x-mpg"},
    {"audio/ogg",
     "application/ogg application/x-ogg audio/opus audio/vorbis audio/x-ogg audio/x-vorbis+ogg"},
    {"audio/wav", "audio/vnd.wave audio/wave audio/x-wav"},
    {"audio/x-mpegurl", "application/x-mpegurl audio/mpegurl"},
    {"image/bmp", "image/x-bmp image/x-ms-bmp"},
    {"image/emf", "application/emf application/x-emf image/x-emf"},
    {"image/heic", "image/heic-sequence"},
    {"image/heif", "image/heif-sequence"},
    {"image/jp2", "image/jpeg2000 image/jpeg2000-image image/x-jpeg2000-image"},
    {"image/jpeg", "image/jpg image/pjpeg image/x-jpeg"},
    {"image/png", "image/apng image/vnd.mozilla.apng image/x-png"},
    {"image/svg+xml", "image/svg"},
    {"image/tiff", "image/tif image/x-tiff"},
    {"image/vnd.adobe.photoshop",
     "application/photoshop application/x-photoshop image/photoshop image/psd image/x-photoshop "
     "image/x-psd"},
    {"image/vnd.microsoft.icon", "image/ico image/x-icon"},
    {"image/vnd.zbrush.pcx", "image/x-pcx"},
    {"image/wmf", "application/wmf application/x-msmetafile application/x-wmf image/x-wmf"},
    {"message/rfc822", "message/global message/news message/partial"},
    {"multipart/related", "application/x-mimearchive message/x-mht"},
    {"text/csv",
     "application/csv text/comma-separated-values text/x-comma-separated-values text/x-csv"},
    {"text/html", "text/x-html"},
    {"text/tab-separated-values",
     "application/tab-separated-values text/tsv text/x-tab-separated-values"},
    {"video/mp4", "application/mp4 video/x-m4v"},
    {"video/ogg", "video/x-ogg"},
    {"video/quicktime", "application/quicktime"},
    {"video/x-matroska", "application/x-matroska"},
};

}  // namespace

std::span<const TypesOfStep> types_of_steps() {
  return kTypes;
}

std::span<const AliasesOfType> aliases_of_types() {
  return kAliases;
}

}  // namespace quern::model
