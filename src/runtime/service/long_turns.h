// Threads of one process that compute, send and receive on the same cores.
#ifndef PLACEWRIGHT_RUNTIME_SERVICE_LONG_TURNS_H_
#define PLACEWRIGHT_RUNTIME_SERVICE_LONG_TURNS_H_

#include <array>
#include <cstdint>

namespace placewright {

// All threads of this process, and those that they start, take long turns (SCHED_BATCH) or usual ones. With long ones
// a thread that wakes up does not interrupt the one on its core, but waits for the end of that one's turn: an op is
// not put off for every message. That one may be another program's: then a message waits for milliseconds.
//
// Nothing happens where the thread that makes it has another policy than the system's usual one, or where the system
// refuses. Its end brings usual turns back. One at a time in a process.
class LongTurns {
 public:
  LongTurns();
  ~LongTurns() { Set(false); }
  LongTurns(const LongTurns&) = delete;
  LongTurns& operator=(const LongTurns&) = delete;

  void Set(bool long_turns);

 private:
  const bool usual_;
  bool set_ = false;
};

// Which of two ways makes steps shorter, found out by taking both: at first, again after many steps, and soon where
// two steps on end are far longer than the steps before. The same times lead to the same ways, on all ranks.
class WayOfSteps {
 public:
  // The first step, which is cold, and the first trial.
  static constexpr int kUntilChosen = 5;

  bool second() const;         // the next step is to be made in the second way
  void Took(int64_t step_ns);  // that step

 private:
  // A trial: the chosen way, twice the other, and the chosen again, so that neither gains by times that grow or fall,
  // nor by what happens at every second step.
  static constexpr int kTrial = 4;
  static constexpr int64_t kFirstPause = 64,
                           kLongestPause = 4096;  // steps from a trial to the next
  static constexpr int64_t kFirstGuard = 16;      // and to one that begins early
  static constexpr double kFarLonger = 1.5;       // ends a trial, or begins one early

  bool OtherIsNext() const { return trial_ == 1 || trial_ == 2; }
  void BeginTrial(bool early);
  void EndTrial();

  bool chosen_ = false;
  int trial_ = -1;  // steps of it that have been made; -1: none is under way
  bool early_ = false;
  std::array<int64_t, 2> best_{};  // of the trial: of the chosen way, of the other
  int64_t since_ = 0;              // steps since the last trial
  int64_t pause_ = 1, next_pause_ = kFirstPause;
  int64_t guard_ = kFirstGuard;
  int64_t shortest_ = 0;  // of the chosen way since the last trial; 0: none yet
  bool last_far_longer_ = false;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_SERVICE_LONG_TURNS_H_
