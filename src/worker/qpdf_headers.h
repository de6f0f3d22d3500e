// qpdf's headers. Clang, and so clang-tidy, cannot read the one of its JSON as C++20 (a vector of
// the class inside of itself); nobody here needs it, so that clang does not see it.
#pragma once

#ifdef __clang__
#define JSON_HH
class JSON;
#endif

#include <functional>
#include <memory>
#include <qpdf/Pl_Buffer.hh>
#include <qpdf/QPDF.hh>
#include <qpdf/QPDFPageDocumentHelper.hh>
#include <qpdf/QPDFWriter.hh>
