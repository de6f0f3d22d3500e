// The box program of pages.
#include "worker/steps.h"
#include "worker/worker_main.h"

int main(int argc, char** argv) {
  using namespace quern::worker;
  const Step steps[] = {ebook_step(), html_step(), page_step(), pdf_step(), text_step()};
  return box_main(argc, argv, steps);
}
