#include "worker/smime.h"

#include <openssl/bio.h>
#include <openssl/cms.h>
#include <openssl/objects.h>

#include <memory>

namespace quern::worker {

using model::ErrorKind;

std::variant<std::string, Failure> signed_content(std::string_view cms) {
  const std::unique_ptr<BIO, int (*)(BIO*)> in(
      ::BIO_new_mem_buf(cms.data(), static_cast<int>(cms.size())), ::BIO_free);
  const std::unique_ptr<CMS_ContentInfo, void (*)(CMS_ContentInfo*)> info(
      ::d2i_CMS_bio(in.get(), nullptr), ::CMS_ContentInfo_free);
  if (!info) return Failure{ErrorKind::Corrupt, "its S/MIME envelope is damaged"};
  switch (::OBJ_obj2nid(::CMS_get0_type(info.get()))) {
    case NID_pkcs7_signed:
      break;
    case NID_pkcs7_enveloped:
    case NID_pkcs7_encrypted:
      return Failure{ErrorKind::Encrypted,
                     "it is encrypted for its recipient (S/MIME): save it decrypted from the mail "
                     "program that has the key"};
    default:
      return Failure{ErrorKind::Unsupported,
                     "a kind of S/MIME that is neither signed nor encrypted"};
  }
  ASN1_OCTET_STRING** content = ::CMS_get0_content(info.get());
  if (content == nullptr || *content == nullptr) {
    return Failure{ErrorKind::Corrupt, "a signature without what it signs"};
  }
  return std::string(reinterpret_cast<const char*>(::ASN1_STRING_get0_data(*content)),
                     static_cast<std::size_t>(::ASN1_STRING_length(*content)));
}

}  // namespace quern::worker
