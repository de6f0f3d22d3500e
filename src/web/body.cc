#include "web/body.h"

#include "io/unnamed_file.h"

namespace quern::web {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;

}  // namespace

Result<> Body::read(const std::function<Result<>(std::string_view)>& take) const {
  if (!file_) {
    std::string_view left = data_ ? std::string_view(*data_) : std::string_view();
    while (!left.empty()) {
      TRY(take(left.substr(0, kReadBytes)));
      left.remove_prefix(std::min(left.size(), kReadBytes));
    }
    return {};
  }
  std::string buffer(kReadBytes, '\0');
  for (std::int64_t offset = 0; offset < size_;) {
    TRY_ASSIGN(const std::size_t n, io::read_unnamed(*file_, offset, buffer));
    if (n == 0) return Error{Errc::Corrupt, "a body ended before its size"};
    TRY(take(std::string_view(buffer).substr(0, n)));
    offset += static_cast<std::int64_t>(n);
  }
  return {};
}

Result<std::size_t> Body::read_at(std::int64_t offset, std::span<char> into) const {
  const std::int64_t left = std::max<std::int64_t>(size_ - offset, 0);
  const std::span<char> wanted = into.first(std::min(into.size(), static_cast<std::size_t>(left)));
  if (wanted.empty()) return std::size_t{0};
  if (file_) return io::read_unnamed(*file_, offset, wanted);
  return data_->copy(wanted.data(), wanted.size(), static_cast<std::size_t>(offset));
}

Result<std::string> Body::whole(std::int64_t bytes_max) const {
  if (size_ > bytes_max) return over_limit("a body", size_, bytes_max, "bytes_max");
  if (!file_) return data_ ? *data_ : std::string();
  std::string out;
  out.reserve(static_cast<std::size_t>(size_));
  TRY(read([&out](std::string_view piece) -> Result<> {
    out += piece;
    return {};
  }));
  return out;
}

Result<> BodyWriter::add(std::string_view bytes) {
  const auto more = static_cast<std::int64_t>(bytes.size());
  if (more > bytes_max_ - size_) {
    const std::int64_t wanted = size_ + more;
    TRY(add(bytes.substr(0, static_cast<std::size_t>(bytes_max_ - size_))));
    return over_limit("the body", wanted, bytes_max_, "web.body_bytes_max");
  }
  if (!file_.is_open() && data_.size() + bytes.size() <= kBodyInMemory) {
    data_ += bytes;
    size_ += more;
    return {};
  }
  if (!file_.is_open()) {
    TRY_ASSIGN(file_, io::make_unnamed_file(spool_));
    TRY(io::write_unnamed(file_, 0, data_));
    data_ = {};
  }
  TRY(io::write_unnamed(file_, size_, bytes));
  size_ += more;
  return {};
}

Body BodyWriter::finish() {
  Body body;
  body.size_ = size_;
  if (size_ == 0) return body;
  if (file_.is_open()) {
    body.file_ = std::make_shared<const io::Descriptor>(std::move(file_));
  } else {
    body.data_ = std::make_shared<const std::string>(std::move(data_));
  }
  return body;
}

Body BodyWriter::in_memory(std::string bytes) {
  Body body;
  body.size_ = static_cast<std::int64_t>(bytes.size());
  if (!bytes.empty()) body.data_ = std::make_shared<const std::string>(std::move(bytes));
  return body;
}

Result<Body> BodyWriter::of_file(const std::filesystem::path& file) {
  TRY_ASSIGN(io::FileReader reader, io::FileReader::open(file));
  Body body;
  body.size_ = reader.size_bytes();
  if (body.size_ > 0) {
    body.file_ = std::make_shared<const io::Descriptor>(std::move(reader).release());
  }
  return body;
}

}  // namespace quern::web
