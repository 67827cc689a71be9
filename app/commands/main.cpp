// The troupe command.

#include "app/commands/run_command.hpp"

int main(int argc, char** argv) {
  return troupe::run_command(argc, argv);
}
