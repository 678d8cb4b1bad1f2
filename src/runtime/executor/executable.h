// A graph and a placement as what each device does in a step: ops, what waits for what, and the
// transfers between devices, in terms of cells that hold tensors.
//
// The rules are those of the simulator (docs/simulator.md): an op waits for what it reads, on its
// device; a write in place for the old version's readers beside it and for its transfers; every slice
// crosses to a device once. Beyond them, ops that draw random numbers wait for one another in the
// graph's order, so that they draw what one device would; views are made as soon as what they view is there.
// A member of a collective is a task that is not called: its tensors are handed over when it may run, and it
// ends, with the other members, when the collective has.
#ifndef PLACEWRIGHT_RUNTIME_EXECUTOR_EXECUTABLE_H_
#define PLACEWRIGHT_RUNTIME_EXECUTOR_EXECUTABLE_H_

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/sequence.h"
#include "runtime/transport/collective_spec.h"

namespace placewright {

using CellId = Id<struct CellTag>;  // holds a tensor on one device
using TaskId = Id<struct TaskTag>;  // an op that is no view, or a view of several ops' results
using CopyId = Id<struct CopyTag>;  // a slice's way to another device

struct Executable {
  // An op's call: where its inputs lie, and which of its results goes where.
  struct Call {
    struct Output {
      int32_t result = 0;
      CellId cell;
    };
    OpId op;
    std::vector<int32_t> inputs;  // cells
    std::vector<Output> outputs;
  };
  struct Task {
    DeviceId device;
    Call call;
    std::vector<Call> views;        // of its results, made behind it
    std::vector<CellId> reads;      // distinct cells, one use of each
    std::vector<CellId> unread;     // of what it and its views make: read by nothing
    std::vector<TaskId> next;       // tasks of the device that wait for it, ascending
    std::vector<TaskId> elsewhere;  // tasks of other devices
    std::vector<CopyId> copies;     // that wait for it
    int32_t waits = 0;              // tasks and copies that it waits for
    CollectiveId collective;        // whose member it is; or none
  };
  struct Collective {
    CollectiveSpec spec;          // ranks are devices
    std::vector<TaskId> members;  // in its order
  };
  struct Copy {
    DeviceId from, to;
    StorageId storage;
    int32_t version = 0;
    Bytes offset, length;
    struct Made {
      CellId from, to;  // a tensor of the slice, and its copy
    };
    std::vector<Made> made;
    int32_t waits = 0;            // tasks that it waits for
    std::vector<TaskId> readers;  // wait for it on its destination
    std::vector<TaskId> writers;  // on its source, wait until the bytes have been read
  };
  struct OnDevice {
    std::vector<TaskId> first;   // wait for nothing
    std::vector<CopyId> copies;  // of content from before the step
    std::vector<Call> views;     // of inputs; made when these are set
    size_t tasks = 0;
  };
  struct Input {
    TensorId tensor;
    // The one on its home, or for one that no op writes, on every device that reads it.
    std::vector<CellId> cells;
  };

  IdVector<TaskId, Task> tasks;
  IdVector<CopyId, Copy> copies;
  IdVector<CollectiveId, Collective> collectives;  // the graph's
  IdVector<DeviceId, OnDevice> devices;
  std::vector<Input> inputs;    // of the graph, by tensor
  std::vector<CellId> outputs;  // by Graph::outputs, and others that are to be kept
  IdVector<CellId, DeviceId> device_of;
  // How many tasks and copies use a cell's tensor in a step; kKept: it stays.
  static constexpr int32_t kKept = -1;
  IdVector<CellId, int32_t> uses;
  std::vector<CellId> reset;  // outputs that are made anew by every step
};

// `random` [op]: whether it draws random numbers. `keep`: tensors, beyond the graph's outputs. Views that
// `placement` leaves open follow their storage. With `sequences` an op also waits for the one before it in
// its device's list; members of collectives are in none. Errors: kField (not an ordinary graph: an op without
// a device; those of SpecOf), kPlanInvalid (the sequences make ops wait for one another).
Result<Executable> MakeExecutable(const Graph& graph, const Placement& placement, size_t devices,
                                  const IdVector<OpId, bool>& random,
                                  const std::vector<TensorId>& keep = {},
                                  const Sequences& sequences = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_EXECUTOR_EXECUTABLE_H_
