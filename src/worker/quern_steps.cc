#include "worker/worker_main.h"

int main(int argc, char** argv) {
  return quern::worker::worker_main(argc, argv, quern::worker::all_steps());
}
