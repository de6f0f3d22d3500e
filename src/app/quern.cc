#include "app/cli.h"

int main(int argc, char** argv) {
  return quern::app::run_command_line(argc, argv);
}
