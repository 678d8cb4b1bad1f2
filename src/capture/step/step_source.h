// What a step is recorded of: something that builds its model anew at any batch size.
#ifndef PLACEWRIGHT_CAPTURE_STEP_STEP_SOURCE_H_
#define PLACEWRIGHT_CAPTURE_STEP_STEP_SOURCE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/zoo/zoo.h"

namespace placewright {

class StepSource {
 public:
  virtual ~StepSource() = default;
  // The recorded graph's name.
  virtual const std::string& name() const = 0;
  // The batch size asked for, else the model's own; 0 where it has none.
  virtual int64_t batch() const = 0;
  // Builds the model for `batch` (ignored by one that has none), with memory or, below OnMeta,
  // without. Throws TorchFailure. Several threads may call it at a time.
  virtual std::shared_ptr<Model> Build(int64_t batch) const = 0;
  // Sentences for the user on what is recorded otherwise than the model says.
  virtual std::vector<std::string> Notes() const { return {}; }

  // Building and recording end with kInterrupted once this flag is set; nullptr: never.
  const std::atomic<bool>* interrupted() const { return interrupted_; }
  // Mixed precision of the forward pass (capture/autocast/autocast.h).
  const std::optional<at::ScalarType>& autocast() const { return autocast_; }
  // Whether models shall know what they hold (Model::ContentOf).
  bool keeps_contents() const { return keeps_contents_; }

  // What a request says of the recording, whatever is recorded.
  void Follow(const CaptureRequest& request);

 private:
  const std::atomic<bool>* interrupted_ = nullptr;
  bool keeps_contents_ = false;
  std::optional<at::ScalarType> autocast_;
};

// A model of the zoo.
class ZooSource : public StepSource {
 public:
  // Errors: those of ChooseModel.
  static Result<ZooSource> Create(const CaptureRequest& request);
  const std::string& name() const override { return name_; }
  int64_t batch() const override { return chosen_.settings.Whole("batch"); }
  std::shared_ptr<Model> Build(int64_t batch) const override;

 private:
  ZooSource(std::string name, ChosenModel chosen)
      : name_(std::move(name)), chosen_(std::move(chosen)) {}
  std::string name_;
  ChosenModel chosen_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_STEP_STEP_SOURCE_H_
