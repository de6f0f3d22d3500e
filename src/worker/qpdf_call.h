// Calls of qpdf, which throws what it finds out.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "worker/limits.h"

class QPDF;

namespace quern::worker {

template <typename Action>
std::optional<Failure> qpdf_call(const Action& action) {
  try {
    action();
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& exception) {
    return Failure{model::ErrorKind::Corrupt,
                   fmt::format("the PDF is damaged: {}", valid_utf8(exception.what()))};
  }
}

// The bytes must live longer.
void qpdf_read(QPDF& qpdf, std::string_view pdf);

enum class QpdfOrder { Plain, Linear };
// The identifier is made from the content; passwords, which need random numbers, go.
std::string qpdf_written(QPDF& qpdf, QpdfOrder order);

}  // namespace quern::worker
