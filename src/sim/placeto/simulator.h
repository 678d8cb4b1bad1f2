// Placeto's simulator (Addanki et al. 2019; its rules in our words: docs/simulator-placeto.md),
// equal to the last bit: every time is the same sum of the same doubles.
//
// The original keeps one heap of all events and one of each device's and bus's waiting items. Here
// an op is begun as soon as it is ready and the device has nothing in front of it, even where it
// starts later, and so is a transfer; what is left of the events are the instants at which children
// are notified. The result is the same because
//
// * items are enqueued at a device or bus at times that never fall (at a device at the present, at
//   a bus at the end of the op that its device has just begun), so that its queue is a plain list
//   whose front is final, and start = max(enqueued, free);
// * nothing but its own device and bus sees that an op has begun, until its end;
// * the children notified at one end stand together, in the order of their names: the notice makes
//   no event that could come between.
//
// One thing keeps its event at its start: what ends at the instant at which it starts. The original
// notifies its children after all that was to be notified at that instant before.
//
// Complexity of a run: O(ops log devices + edges).
#ifndef PLACEWRIGHT_SIM_PLACETO_SIMULATOR_H_
#define PLACEWRIGHT_SIM_PLACETO_SIMULATOR_H_

#include <cstdint>
#include <vector>

#include "sim/placeto/event_queue.h"
#include "sim/placeto/sim_graph.h"

namespace placewright {

// Holds the memory of a run, nothing of its content: every run starts from the graph.
class PlacetoSimulator {
 public:
  // `sim_graph` must outlive the simulator.
  explicit PlacetoSimulator(const PlacetoSimGraph& sim_graph) : sim_graph_(sim_graph) {}

  // The makespan in microseconds, 0 without ops. `placement` has a device by op.
  double Run(const std::vector<int32_t>& placement);

  // When each op started in the last run, in microseconds.
  const std::vector<double>& starts() const { return starts_; }

 private:
  struct OpState {
    int32_t waiting;  // parents that have not yet been done
    int32_t device;
  };
  // Ops [head, tail) of device_items_ wait for the device.
  struct Device {
    int32_t head = 0, tail = 0;
    int32_t op = -1;  // whose event is pending, or -1
    uint32_t rank = 0;
    double free_at = 0;
  };
  struct Transfer {
    double ready, delay;
    int32_t begin,
        end;  // row of PlacetoSimGraph::children; those on the bus's own device are not meant
    uint32_t parent_rank;
  };
  // Of one device, to all others. [head, tail) of transfers_ have not ended; the event of the
  // first is pending.
  struct Bus {
    int32_t head = 0, tail = 0;
    double free_at = 0;
  };

  void Prepare(const std::vector<int32_t>& placement);
  void Enqueue(int32_t op, int32_t device, double now);
  // `due`: the present is the start.
  void Begin(int32_t op, int32_t device, double start, bool due);
  bool SendOutputs(const PlacetoSimGraph::Op& op, int32_t device, double end);
  bool SendGroups(const PlacetoSimGraph::Op& op, int32_t device, double end);
  void Send(int32_t device, const Transfer& transfer);
  void BeginTransfer(int32_t device, bool due);
  void EndOp(int32_t device);
  void EndTransfer(int32_t device, double now);
  static int32_t DeviceSource(int32_t device) { return 2 * device; }
  static int32_t BusSource(int32_t device) { return 2 * device + 1; }

  const PlacetoSimGraph& sim_graph_;
  std::vector<OpState> state_;
  std::vector<double> starts_;
  std::vector<Device> devices_;
  std::vector<Bus> buses_;
  std::vector<int32_t> device_items_;
  std::vector<Transfer> transfers_;
  std::vector<uint8_t> sent_;  // by group of a fan
  PlacetoEventQueue events_;
  int64_t begun_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_PLACETO_SIMULATOR_H_
