// The box program of images.
#include "worker/steps.h"
#include "worker/worker_main.h"

int main(int argc, char** argv) {
  using namespace quern::worker;
  const Step steps[] = {image_step(), pdf_ocr_step()};
  return box_main(argc, argv, steps);
}
