// TLS: a certificate authority of the test's own, and a site that has a certificate of it. With
// HTTP/2 where both want it.
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>

#include "io/file.h"
#include "support/temp_folder.h"
#include "web/scripted_site.h"

namespace quern::web {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using Session = std::unique_ptr<SSL, decltype(&SSL_free)>;

Key make_key() {
  return {EVP_EC_gen("P-256"), &EVP_PKEY_free};
}

struct CertificateOrder {
  std::string name;
  long days = 1;
  X509* issuer = nullptr;  // itself
  EVP_PKEY* issuer_key = nullptr;
};

Certificate make_certificate(EVP_PKEY* key, const CertificateOrder& order) {
  Certificate made(X509_new(), &X509_free);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), order.issuer ? 2 : 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -2 * 86'400);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), order.days * 86'400);
  X509_set_pubkey(made.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(order.name.c_str()), -1, -1, 0);
  X509* const issuer = order.issuer ? order.issuer : made.get();
  X509_set_issuer_name(made.get(), X509_get_subject_name(issuer));
  const std::string names = "DNS:" + order.name;
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(
      nullptr, nullptr, order.issuer ? NID_subject_alt_name : NID_basic_constraints,
      order.issuer ? names.c_str() : "critical,CA:TRUE");
  CHECK(extension != nullptr);
  X509_add_ext(made.get(), extension, -1);
  X509_EXTENSION_free(extension);
  CHECK(X509_sign(made.get(), order.issuer_key ? order.issuer_key : key, EVP_sha256()) > 0);
  return made;
}

std::string pem_of(X509* certificate) {
  BIO* bio = BIO_new(BIO_s_mem());
  CHECK(PEM_write_bio_X509(bio, certificate) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

void offer_h2(SSL_CTX* context) {
  const auto choose = [](SSL*, const unsigned char** out, unsigned char* out_size,
                         const unsigned char* in, unsigned in_size, void*) {
    static const unsigned char kH2[] = "\x02h2";
    unsigned char* chosen = nullptr;
    if (SSL_select_next_proto(&chosen, out_size, kH2, 3, in, in_size) != OPENSSL_NPN_NEGOTIATED) {
      return SSL_TLSEXT_ERR_NOACK;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
  };
  SSL_CTX_set_alpn_select_cb(context, choose, nullptr);
}

// Exactly so many bytes; fewer at the end.
std::string read_exactly(SSL* session, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t filled = 0;
  while (filled < size) {
    const int n = SSL_read(session, bytes.data() + filled, static_cast<int>(size - filled));
    if (n <= 0) break;
    filled += static_cast<std::size_t>(n);
  }
  return bytes.substr(0, filled);
}

void write_all(SSL* session, std::string_view bytes) {
  (void)SSL_write(session, bytes.data(), static_cast<int>(bytes.size()));
}

void answer_http1(SSL* session) {
  std::string request;
  while (!request.ends_with("\r\n\r\n")) {
    const std::string byte = read_exactly(session, 1);
    if (byte.empty()) return;
    request += byte;
  }
  write_all(session, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret");
}

std::string frame(char type, char flags, unsigned char stream, std::string_view payload) {
  std::string out = {'\0', '\0', static_cast<char>(payload.size()), type, flags, '\0',
                     '\0', '\0', static_cast<char>(stream)};
  return out.append(payload);
}

// As little of HTTP/2 as it takes: ":status: 200" is entry 8 of the static table.
void answer_http2(SSL* session) {
  (void)read_exactly(session, 24);  // the preface
  write_all(session, frame(4, 0, 0, ""));
  for (;;) {
    const std::string head = read_exactly(session, 9);
    if (head.size() < 9) return;
    const auto at = [&head](int i) { return static_cast<unsigned char>(head[i]); };
    (void)read_exactly(session, at(0) * 65'536U + at(1) * 256U + at(2));
    if (at(3) == 4 && at(4) == 0) write_all(session, frame(4, 1, 0, ""));
    if (at(3) != 1) continue;
    write_all(session, frame(1, 4, at(8), "\x88"));
    write_all(session, frame(0, 1, at(8), "secret"));
  }
}

class FetcherTlsTest : public testing::Test {
 protected:
  FetcherTlsTest() {
    ::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to peers that have gone
    CHECK_OK(io::write_file_durably(folder_ / "ca.pem", pem_of(ca_.get())));
  }

  void serve(const std::string& name, long days, bool with_h2) {
    const Certificate certificate =
        make_certificate(site_key_.get(), {name, days, ca_.get(), ca_key_.get()});
    CHECK(SSL_CTX_use_certificate(context_.get(), certificate.get()) == 1);
    CHECK(SSL_CTX_use_PrivateKey(context_.get(), site_key_.get()) == 1);
    if (with_h2) offer_h2(context_.get());
    site_ = std::make_unique<ScriptedSite>([this](net::RawPeer& peer) {
      const Session session(SSL_new(context_.get()), &SSL_free);
      SSL_set_fd(session.get(), peer.fd());
      if (SSL_accept(session.get()) != 1) return;
      const unsigned char* protocol = nullptr;
      unsigned size = 0;
      SSL_get0_alpn_selected(session.get(), &protocol, &size);
      size == 2 ? answer_http2(session.get()) : answer_http1(session.get());
    });
  }
  Fetched fetch(const std::string& ca_file) {
    FetcherOptions options;
    options.user_agent = "quern-test/1.0";
    options.spool = folder_.path();
    options.connect_to = {{"site.example:443", site_->place()}};
    options.ca_file = ca_file;
    const auto fetcher = Fetcher::open(options).value();
    return fetch_now(*fetcher, order_to("https://site.example/a", "site.example"));
  }
  std::string ca_file() const { return folder_ / "ca.pem"; }

  support::TempFolder folder_;
  Key ca_key_ = make_key();
  Key site_key_ = make_key();
  Certificate ca_ = make_certificate(ca_key_.get(), {"The test's own", 2});
  Context context_{SSL_CTX_new(TLS_server_method()), &SSL_CTX_free};
  std::unique_ptr<ScriptedSite> site_;
};

TEST_F(FetcherTlsTest, ACertificateThatHoldsIsTrusted) {
  serve("site.example", 1, false);
  const Fetched fetched = fetch(ca_file());
  EXPECT_EQ(fetched.status, 200) << fetched.message;
  EXPECT_EQ(fetched.version, "1.1");
  EXPECT_EQ(fetched.body.whole(100).value(), "secret");
}

TEST_F(FetcherTlsTest, Http2IsSpokenWhereItIsOffered) {
  serve("site.example", 1, true);
  const Fetched fetched = fetch(ca_file());
  EXPECT_EQ(fetched.status, 200) << fetched.message;
  EXPECT_EQ(fetched.version, "2");
  EXPECT_EQ(fetched.body.whole(100).value(), "secret");
  EXPECT_EQ(fetched.request_head,
            "GET /a HTTP/2\r\nHost: site.example\r\nuser-agent: quern-test/1.0\r\naccept: */*\r\n"
            "accept-encoding: gzip, deflate, br, zstd\r\n\r\n");
}

TEST_F(FetcherTlsTest, AnUnknownAuthorityIsNotTrusted) {
  serve("site.example", 1, false);
  const Fetched fetched = fetch("");
  EXPECT_EQ(fetched.problem, FetchProblem::Tls);
  EXPECT_EQ(fetched.request_head, "") << "nothing was asked";
}

TEST_F(FetcherTlsTest, ACertificateOfAnotherNameIsNotTrusted) {
  serve("other.example", 1, false);
  EXPECT_EQ(fetch(ca_file()).problem, FetchProblem::Tls);
}

TEST_F(FetcherTlsTest, ACertificateThatHasExpiredIsNotTrusted) {
  serve("site.example", -1, false);
  const Fetched fetched = fetch(ca_file());
  EXPECT_EQ(fetched.problem, FetchProblem::Tls);
  EXPECT_NE(fetched.message.find("site.example"), std::string::npos) << fetched.message;
}

TEST_F(FetcherTlsTest, AServerWithoutTlsIsATlsProblem) {
  site_ = std::make_unique<ScriptedSite>(
      [](net::RawPeer& peer) { (void)peer.send_some("HTTP/1.1 400 Bad Request\r\n\r\n"); });
  EXPECT_EQ(fetch(ca_file()).problem, FetchProblem::Tls);
}

}  // namespace
}  // namespace quern::web
