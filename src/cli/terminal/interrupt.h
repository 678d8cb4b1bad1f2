// Ctrl-C, SIGTERM and SIGHUP as a flag, so that the best plan so far can be written.
#ifndef PLACEWRIGHT_CLI_TERMINAL_INTERRUPT_H_
#define PLACEWRIGHT_CLI_TERMINAL_INTERRUPT_H_

#include <atomic>

namespace placewright {

// From now on the first SIGINT, SIGTERM or SIGHUP sets the flag. Repeats within a second are
// ignored: `timeout` signals twice, a terminal that goes away sends several. A later one ends the
// process at once. The one piece of global state of the program: signal handlers reach nothing
// else.
const std::atomic<bool>& CatchInterrupts();

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_TERMINAL_INTERRUPT_H_
