// Threads of one process that compute, send and receive on the same cores.
#ifndef PLACEWRIGHT_RUNTIME_SERVICE_LONG_TURNS_H_
#define PLACEWRIGHT_RUNTIME_SERVICE_LONG_TURNS_H_

#include <array>
#include <cstdint>

namespace placewright {

// All threads of this process, and those that they start, take long turns (SCHED_BATCH) or usual ones: of long ones a
// thread that wakes up waits for the end, where it would else interrupt them. Where nothing else runs, an op is then
// not put off for every message. Where other programs keep the cores, a message waits for milliseconds.
//
// Nothing happens where the program was started with another policy than the system's usual one. Usual turns again
// when it ends.
class LongTurns {
 public:
  LongTurns();
  ~LongTurns() { Set(false); }
  LongTurns(const LongTurns&) = delete;
  LongTurns& operator=(const LongTurns&) = delete;

  void Set(bool long_turns);

 private:
  const bool usual_;  // the policy that the program was started with
  bool set_ = false;
};

// Which of two ways makes steps shorter, found out by taking both in turn: at first, again after many steps, and at
// once where two steps on end are far longer than the steps before. The same times lead to the same ways, on all ranks.
class WayOfSteps {
 public:
  bool second() const;         // the next step is to be made in the second way
  void Took(int64_t step_ns);  // that step

 private:
  // Steps of a trial: the way that is left or kept first, both by turns.
  static constexpr int kTrial = 4;
  static constexpr int64_t kFirstPause = 64,
                           kLongestPause = 4096;  // steps from a trial to the next
  static constexpr double kFarLonger = 1.5;       // ends a trial, and begins one

  bool InTrial() const { return trial_ >= 0; }
  bool OtherIsNext() const { return InTrial() && trial_ % 2 == 1; }
  void BeginTrial();
  void EndTrial();

  bool chosen_ = false;
  int trial_ = -1;                 // steps of it that have been made; -1: none is under way
  std::array<int64_t, 2> best_{};  // of the trial: of the chosen way, of the other
  int64_t pause_ = 1;              // steps until the next trial: the first step is a cold one
  int64_t next_pause_ = kFirstPause;
  int64_t shortest_ = 0;  // of the chosen way since its last trial; 0: none yet
  bool last_far_longer_ = false;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_SERVICE_LONG_TURNS_H_
