#include "cli/program.h"

int main(int argc, char** argv) {
  return placewright::RunProgram(argc, argv, placewright::Clock::now());
}
