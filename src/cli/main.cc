#include <cstdio>
#include <cstring>
#include <new>

#include "cli/program.h"
#include "torch_api/blas.h"

int main(int argc, char** argv) {
  try {
    placewright::StartAgainForBlasKernels(argv);
    return placewright::RunProgram(argc, argv, placewright::Clock::now(),
                                   placewright::MakeCommands);
  } catch (const std::bad_alloc&) {  // not even room to say so in the usual way
    for (int i = 1; i < argc; ++i) {
      if (std::strcmp(argv[i], "--json") != 0) continue;
      std::fputs(
          "{\"schema\": \"placewright.error/1\", \"error\": {\"code\": \"internal\", \"message\": "
          "\"out of memory\", \"file\": \"\", \"place\": \"\", \"remedy\": \"Free some "
          "memory.\"}}\n",
          stdout);
      return 1;
    }
    std::fputs("placewright: error: out of memory [internal]\n  Free some memory.\n", stderr);
    return 1;
  }
}
