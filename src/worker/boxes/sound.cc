// The box program of sound.
#include "worker/steps.h"
#include "worker/worker_main.h"

int main(int argc, char** argv) {
  using namespace quern::worker;
  const Step steps[] = {audio_step(), research_step()};
  return box_main(argc, argv, steps);
}
