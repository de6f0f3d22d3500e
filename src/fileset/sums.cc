#include "fileset/sums.h"

#include <openssl/evp.h>

#include <array>

#include "base/check.h"
#include "blob/digest.h"

namespace quern::fileset {
namespace {

struct ContextFree {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, ContextFree>;

Context make_context(const EVP_MD* algorithm) {
  Context context(EVP_MD_CTX_new());
  CHECK(context != nullptr);
  CHECK(EVP_DigestInit_ex(context.get(), algorithm, nullptr) == 1);
  return context;
}

std::string hex_so_far(const Context& context) {
  const Context copy(EVP_MD_CTX_new());
  CHECK(copy != nullptr);
  CHECK(EVP_MD_CTX_copy_ex(copy.get(), context.get()) == 1);
  unsigned char raw[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  CHECK(EVP_DigestFinal_ex(copy.get(), raw, &size) == 1);
  return blob::hex_of({reinterpret_cast<const char*>(raw), size});
}

}  // namespace

struct Sums::State {
  std::array<Context, 3> contexts = {make_context(EVP_md5()), make_context(EVP_sha1()),
                                     make_context(EVP_sha256())};
};

Sums::Sums() : state_(std::make_unique<State>()) {}
Sums::~Sums() = default;
Sums::Sums(Sums&&) noexcept = default;
Sums& Sums::operator=(Sums&&) noexcept = default;

void Sums::add(std::string_view bytes) {
  for (const Context& context : state_->contexts) {
    CHECK(EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1);
  }
}

Digests Sums::digests() const {
  return {hex_so_far(state_->contexts[0]), hex_so_far(state_->contexts[1]),
          hex_so_far(state_->contexts[2])};
}

}  // namespace quern::fileset
