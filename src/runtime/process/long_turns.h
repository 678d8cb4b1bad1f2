// Threads that compute, send and receive on the same cores.
#ifndef PLACEWRIGHT_RUNTIME_PROCESS_LONG_TURNS_H_
#define PLACEWRIGHT_RUNTIME_PROCESS_LONG_TURNS_H_

namespace placewright {

// As long as it lives, the thread that made it and those that it starts wait for the end of one another's turns on a
// core when they wake up (SCHED_BATCH), where they would else interrupt them: an op is not put off again and again
// for a message each. Their share of the cores is what it was. Nothing happens where the program was started with
// another policy than the usual one. Ends on the thread that made it.
class LongTurns {
 public:
  LongTurns();
  ~LongTurns();
  LongTurns(const LongTurns&) = delete;
  LongTurns& operator=(const LongTurns&) = delete;

 private:
  bool set_ = false;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROCESS_LONG_TURNS_H_
