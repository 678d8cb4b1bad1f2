// A step in lanes as it is written (internal to the module): an op that some device of a class adds to a block is
// added once, on the class's first device, and every other device of the class has to add the same one at its turn. What
// is written as another block was (block_scripts.h) is added for first devices alone.
//
// A tensor that a device of a class makes stands for that of the first device: it is a number alone, which says of which
// lane it is an image of which tensor. Ops of two devices are the same if they
// are the same part and what they read stands for the same tensors. A device reads what it has, what lies everywhere,
// or what its own lane has on another class: all else, such as a sum that one device gathers from all, makes devices
// differ. Collectives of a class are one, over the sets of devices that each of them is over.
#ifndef PLACEWRIGHT_COMPILE_LANE_FOLDER_H_
#define PLACEWRIGHT_COMPILE_LANE_FOLDER_H_

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "compile/lane_classes.h"
#include "compile/step_arrays.h"

namespace placewright {

class LaneFolder {
 public:
  // Both must outlive it. `in_order`: collectives wait for links, in the order of their ops (rule 15).
  LaneFolder(const LaneClasses& classes, bool in_order, StepArrays& arrays);

  // A block of the step. Passes over the whole are of first devices alone: nothing is looked at behind Finish.
  void Begin();
  void End();
  void Finish() { finished_ = true; }
  bool active() const { return !finished_ && !failed_; }
  // Devices of some class differ: what was written is of no meaning.
  bool failed() const { return failed_; }
  void Fail() { failed_ = true; }

  int image_bits() const { return image_bits_; }
  DeviceId FirstOf(DeviceId device) const { return classes_.first[device]; }
  // Where the tensor lies; none: everywhere.
  DeviceId DeviceOf(TensorId tensor) const {
    const DeviceId first = home_[StandsFor(tensor)];
    return first.valid() ? members_[first][tensor.index() >> image_bits_] : first;
  }
  // The first device's tensor that stands for this one.
  TensorId StandsFor(TensorId tensor) const {
    return TensorId(tensor.index() & ((size_t{1} << image_bits_) - 1));
  }
  // What a tensor of the first device of its class is on this one.
  TensorId ImageOn(DeviceId device, TensorId of) const {
    return TensorId(of.index() | static_cast<size_t>(classes_.lane[device]) << image_bits_);
  }
  // What the first device of the class reads where this one reads `inputs`. Valid until the next call.
  std::span<const TensorId> Read(std::span<const TensorId> inputs, DeviceId device);

  // The op, or the input, that the device adds next to this block: that which one of its class has added, or none.
  OpId NextOp(DeviceId device);
  OpId PeekOp(DeviceId device) const;  // the same, which is still to come
  TensorId NextInput(DeviceId device);
  // It has added this one, which is of the first device of its class.
  void AddOp(DeviceId device, OpId op);
  void AddInput(DeviceId device, TensorId input);
  // The tensor lies there, on the first device of a class; none: everywhere.
  void Place(TensorId tensor, DeviceId device);

  struct Member {
    OpId op;  // of the first device of the class
    DeviceId device;
  };
  // Whether these members' collective is one that stands for it already; else there is one more, `made`.
  bool JoinsKnown(std::span<const Member> members);
  void AddCollective(CollectiveId made, std::span<const Member> members);

 private:
  template <class Item>
  struct Rows {
    IdVector<DeviceId, std::vector<Item>> added;  // by first device of the class
    IdVector<DeviceId, int32_t> next;             // by device
  };
  struct Folded {
    CollectiveId id;
    std::vector<int32_t> sets;  // the first device's own first
    bool has_own = false;
  };

  template <class Item>
  Item Next(Rows<Item>& rows, DeviceId device);
  template <class Item>
  void Add(Rows<Item>& rows, DeviceId device, Item item);
  void Note(DeviceId device, int32_t what);
  void NoteSet(Folded& folded, std::span<const Member> members);
  void EndCollectives();

  const LaneClasses& classes_;
  const bool in_order_;
  StepArrays& arrays_;
  bool failed_ = false, finished_ = false;
  IdVector<DeviceId, std::vector<DeviceId>> members_;  // by first device of the class
  int image_bits_ = 0;                                 // of the number of what an image is of
  IdVector<TensorId, DeviceId> home_;
  Rows<OpId> ops_;
  Rows<TensorId> inputs_;
  std::vector<DeviceId> touched_;  // devices that added something to the block
  IdVector<DeviceId, char> is_touched_;
  // By size of classes and lane: a hash of what it added to the block; and where that is, by device.
  std::map<int32_t, std::vector<uint64_t>> done_;
  IdVector<DeviceId, std::vector<uint64_t>*> slots_;
  std::vector<TensorId> read_;
  std::vector<Folded> folded_;  // of the block
  std::map<std::vector<DeviceId>, int32_t> sets_;
  std::vector<std::vector<DeviceId>> set_devices_;
  std::map<std::vector<int32_t>, int32_t> numbers_;  // of sets of sets
  std::vector<int32_t> number_of_set_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_LANE_FOLDER_H_
