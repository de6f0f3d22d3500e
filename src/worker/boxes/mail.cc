// The box program of mail.
#include "worker/steps.h"
#include "worker/worker_main.h"

int main(int argc, char** argv) {
  using namespace quern::worker;
  const Step steps[] = {email_step(), mbox_step(), msg_step(), pst_step()};
  return box_main(argc, argv, steps);
}
