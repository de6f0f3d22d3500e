// quern-steps: the broker. Which program has the code of which step.
#include "worker/worker_main.h"

namespace {

constexpr quern::worker::StepPlace kPlaces[] = {
    {"Archive", "quern-box-files"}, {"Audio", "quern-box-sound"}, {"Detect", "quern-box-files"},
    {"Ebook", "quern-box-pages"},   {"Email", "quern-box-mail"},  {"Html", "quern-box-pages"},
    {"Image", "quern-box-images"},  {"Mbox", "quern-box-mail"},   {"Msg", "quern-box-mail"},
    {"Office", "quern-box-office"}, {"Page", "quern-box-pages"},  {"Pdf", "quern-box-pages"},
    {"PdfOcr", "quern-box-images"}, {"Pst", "quern-box-mail"},    {"Research", "quern-box-sound"},
    {"Text", "quern-box-pages"},
};

}  // namespace

int main(int argc, char** argv) {
  return quern::worker::worker_main(argc, argv, kPlaces);
}
