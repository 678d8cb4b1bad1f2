// Memory kept aside for the way out once all other is gone.
#ifndef PLACEWRIGHT_CLI_TERMINAL_MEMORY_RESERVE_H_
#define PLACEWRIGHT_CLI_TERMINAL_MEMORY_RESERVE_H_

namespace placewright {

// From now on the first allocation that fails, in whatever thread, gives a reserve back before it
// throws std::bad_alloc. Destructors that run on the way may allocate (those of JSON documents do)
// and would end the process if they could not; the best plan and the error need some, too. The
// reserve is address space that nothing touches: at most 64 MiB, and half of what a limit
// (ulimit -v) leaves. Global state, as std::set_new_handler is.
void KeepMemoryReserve();

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_TERMINAL_MEMORY_RESERVE_H_
