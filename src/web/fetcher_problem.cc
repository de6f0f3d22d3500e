#include "web/fetcher_problem.h"

#include <curl/curl.h>

namespace quern::web {

std::string_view to_string(FetchProblem problem) {
  switch (problem) {
    case FetchProblem::None:
      return "none";
    case FetchProblem::Address:
      return "address";
    case FetchProblem::Name:
      return "name";
    case FetchProblem::Connect:
      return "connect";
    case FetchProblem::Tls:
      return "tls";
    case FetchProblem::Timeout:
      return "timeout";
    case FetchProblem::TooLarge:
      return "too_large";
    case FetchProblem::Protocol:
      return "protocol";
    case FetchProblem::Coding:
      return "coding";
    case FetchProblem::Canceled:
      return "canceled";
    case FetchProblem::Internal:
      return "internal";
  }
  return "internal";
}

bool is_passing(FetchProblem problem) {
  switch (problem) {
    case FetchProblem::Name:  // nobody can tell a name that is gone from a server that is
    case FetchProblem::Connect:
    case FetchProblem::Timeout:
    case FetchProblem::Protocol:
    case FetchProblem::Canceled:
    case FetchProblem::Internal:  // a full disk of ours says nothing of the page
      return true;
    case FetchProblem::None:
    case FetchProblem::Address:
    case FetchProblem::Tls:
    case FetchProblem::TooLarge:
    case FetchProblem::Coding:
      return false;
  }
  return false;
}

FetchProblem problem_of_curl(int code) {
  switch (code) {
    case CURLE_OK:
      return FetchProblem::None;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_URL_MALFORMAT:  // a host that only the standard knows
      return FetchProblem::Name;
    case CURLE_COULDNT_CONNECT:
      return FetchProblem::Connect;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_USE_SSL_FAILED:
      return FetchProblem::Tls;
    case CURLE_OPERATION_TIMEDOUT:
      return FetchProblem::Timeout;
    case CURLE_FILESIZE_EXCEEDED:
      return FetchProblem::TooLarge;
    case CURLE_BAD_CONTENT_ENCODING:
      return FetchProblem::Coding;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_SEND_FAIL_REWIND:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:  // HTTP/0.9
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_READ_ERROR:
      return FetchProblem::Protocol;
    default:
      return FetchProblem::Internal;
  }
}

FetchProblem problem_of_error(const Error& error) {
  switch (error.kind()) {
    case Errc::TooLarge:
      return FetchProblem::TooLarge;
    case Errc::Invalid:
      return FetchProblem::Coding;
    case Errc::Canceled:
      return FetchProblem::Canceled;
    default:
      return FetchProblem::Internal;
  }
}

}  // namespace quern::web
