#include "support/test_site/troubles.h"

#include <fmt/format.h>

namespace quern::test_site {
namespace {

constexpr int kSlowPages = 20;

}  // namespace

// -- redirect.test --

void RedirectHost::redirect(const std::string& target, int status, const std::string& location) {
  add(target, Fate::Fetched,
      [status, location](const Ask&) { return redirect_answer(status, location); });
}

void RedirectHost::chain(const std::string& prefix, int redirects) {
  for (int i = 0; i < redirects; ++i) {
    redirect(fmt::format("{}{}", prefix, i), 302, fmt::format("{}{}", prefix, i + 1));
  }
}

RedirectHost::RedirectHost(std::string name) : TableHost(std::move(name)) {
  for (const int status : {301, 302, 303, 307, 308}) {
    redirect(fmt::format("/r{}", status), status, fmt::format("/to{}", status));
    leaf(fmt::format("/to{}", status), Fate::Document, fmt::format("redirectto{}", status));
  }
  redirect("/c1", 301, "/c2");
  redirect("/c2", 307, "/c3");
  redirect("/c3", 308, "/chain-end");
  leaf("/chain-end", Fate::Document, "redirectchainend");
  redirect("/l1", 302, "/l2");
  redirect("/l2", 302, "/l1");
  redirect("/self", 301, "/self");
  redirect("/away", 301, "http://elsewhere.test/unlisted");
  redirect("/dir/relative", 302, "sub/page");
  leaf("/dir/sub/page", Fate::Document, "redirectrelative");
  redirect("/fragment", 302, "/landing#part");
  leaf("/landing", Fate::Document, "redirectlanding");
  redirect("/script", 302, "javascript:alert(1)");
  redirect("/broken", 302, "http://[");
  redirect("/empty", 302, "");
  add("/missing", Fate::Fetched, [](const Ask&) { return status_answer(302); });
  add("/absolute", Fate::Fetched,
      [](const Ask& ask) { return redirect_answer(301, ask.absolute("/absolute-end")); });
  leaf("/absolute-end", Fate::Document, "redirectabsolute");
  chain("/ten", kRedirectsMax);
  leaf("/ten10", Fate::Document, "redirectten");
  chain("/eleven", kRedirectsMax + 1);
  never("/eleven11");
  page("/", Fate::Document,
       {.title = "Redirects",
        .text = "redirectroot",
        .links = {"/r301", "/r302", "/r303", "/r307", "/r308", "/c1", "/l1", "/self", "/away",
                  "/dir/relative", "/fragment", "/script", "/broken", "/empty", "/missing",
                  "/absolute", "/ten0", "/eleven0"}});
}

// -- errors.test --

void ErrorsHost::fill() {
  clear();
  for (const int status : {400, 401, 403, 404, 410, 418, 451, 500, 501})
    add(fmt::format("/{}", status), Fate::Fetched,
        [status](const Ask&) { return status_answer(status); });
  leaf("/soft404", Fate::Document, "errorssoft page not found");
  add("/no-head", Fate::Document, [](const Ask& ask) {
    if (ask.method == net::Method::Head) return status_answer(405);
    return html_answer({.title = "No HEAD", .text = "errorsnohead"});
  });
  add_retries();
  add_broken();
  Html root{.title = "Errors", .text = "errorsroot", .links = targets()};
  page("/", Fate::Document, root);
}

void ErrorsHost::add_retries() {
  add("/heals", Fate::Document, [this](const Ask& ask) {
    if (tries(ask.target) < number("heals_after", 2)) return status_answer(500);
    return html_answer({.title = "Healed", .text = "errorshealed"});
  });
  const auto once = [this](int status, std::string after) {
    return [this, status, after = std::move(after)](const Ask& ask) {
      if (tries(ask.target) > 0)
        return html_answer({.title = "Back", .text = fmt::format("errorsback{}", status)});
      Answer answer = status_answer(status);
      answer.headers.set("Retry-After", after);
      return answer;
    };
  };
  add("/429", Fate::Document, once(429, text("retry_seconds", "5")));
  add("/503", Fate::Document, once(503, "1"));
  // In the past: at once, for what the header says.
  add("/503date", Fate::Document, once(503, "Thu, 01 Jan 2026 08:00:00 GMT"));
  add("/503nonsense", Fate::Document, once(503, "soon"));
}

void ErrorsHost::add_broken() {
  const auto broken = [](Manner manner) {
    return [manner](const Ask&) {
      Answer answer = html_answer({.title = "Cut", .text = "errorscut"});
      answer.manner = manner;
      answer.validators = false;
      return answer;
    };
  };
  add("/reset", Fate::Fetched, broken(Manner::Cut));
  add("/silent", Fate::Fetched, broken(Manner::Silent));
  add("/reset-once", Fate::Document, [this, broken](const Ask& ask) {
    if (tries(ask.target) == 0) return broken(Manner::Cut)(ask);
    return html_answer({.title = "Whole", .text = "errorswhole"});
  });
  if (number("hang", 0) != 0) add("/hangs", Fate::Fetched, broken(Manner::Hung));
}

// -- slow.test --

SlowHost::SlowHost(std::string name) : TableHost(std::move(name)) {
  for (int i = 1; i < kSlowPages; ++i)
    leaf(fmt::format("/p{}", i), Fate::Document, fmt::format("slowword{}", i));
  page("/", Fate::Document, {.title = "Slow", .text = "slowword0", .links = targets()});
}

Answer SlowHost::make(const Ask& ask) {
  Answer answer = TableHost::make(ask);
  answer.delay_ms += number("slow_ms", 500);
  return answer;
}

// -- cookie.test --

CookieHost::CookieHost(std::string name) : TableHost(std::move(name)) {
  const auto guarded = [](Html html) {
    return [html = std::move(html)](const Ask& ask) {
      if (ask.headers.find("Cookie") != nullptr) return status_answer(500);
      Answer answer = html_answer(html);
      answer.headers.add("Set-Cookie", "visitor=17; Path=/");
      answer.headers.add("Set-Cookie", "other=1; HttpOnly");
      return answer;
    };
  };
  add("/", Fate::Document,
      guarded({.title = "Cookies", .text = "cookieroot", .links = {"/next", "/wall"}}));
  add("/next", Fate::Document, guarded({.title = "Next", .text = "cookienext"}));
  // Who keeps no cookie is sent in circles.
  const auto wall = [](const char* to) {
    return [to](const Ask& ask) {
      if (ask.headers.find("Cookie") != nullptr)
        return html_answer({.title = "Inside", .text = "cookieinside"});
      Answer answer = redirect_answer(302, to);
      answer.headers.add("Set-Cookie", "pass=1");
      return answer;
    };
  };
  add("/wall", Fate::Fetched, wall("/wall?try=1"));
  add("/wall?try=1", Fate::Fetched, wall("/wall"));
}

}  // namespace quern::test_site
