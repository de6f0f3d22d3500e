// GMime's objects with owners, and the decoded bytes of a part.
//
// For use in the box: GMime reads hostile bytes. Threads: one.
#pragma once

#include <gmime/gmime.h>

#include <memory>
#include <string>

#include "worker/mail_message.h"

namespace quern::worker {

template <class T>
using GOwned = std::shared_ptr<T>;

// Takes over the only reference that the caller has.
template <class T>
GOwned<T> g_owned(T* object) {
  return GOwned<T>(object, [](T* dying) {
    if (dying != nullptr) g_object_unref(dying);
  });
}
// One more reference.
template <class T>
GOwned<T> g_shared(T* object) {
  if (object != nullptr) g_object_ref(object);
  return g_owned(object);
}

// "text/html", in small letters.
std::string mime_type_of(GMimeObject* object);
// Of Content-Type; "" where it is missing.
std::string type_parameter(GMimeObject* object, const char* name);
// By Content-Disposition or Content-Type.
std::string filename_of(GMimeObject* object);
bool is_attachment(GMimeObject* object);
std::string content_id_of(GMimeObject* object);

// The content of a leaf, decoded from base64 and the like.
void read_content(GMimePart* part, const ByteSink& sink);
std::string content_of(GMimePart* part, std::size_t bytes_max);
// A message as it would stand in a file of its own.
void write_object(GMimeObject* object, const ByteSink& sink);

// As UTF-8, by the charset that the mail names where that can be, else by a guess.
std::string mail_text(std::string_view bytes, const std::string& charset);

}  // namespace quern::worker
