#include "runtime/service/processes.h"

#include <algorithm>
#include <utility>

#include "aten/torch_version.h"
#include "torch_api/process_environment.h"
#include "runtime/process/rendezvous.h"

namespace placewright {
namespace {

class ProcessesHere final : public Processes {
 public:
  explicit ProcessesHere(std::unique_ptr<Rendezvous> rendezvous)
      : rendezvous_(std::move(rendezvous)) {}

  int32_t rank() const override { return rendezvous_->rank(); }
  int32_t size() const override { return rendezvous_->size(); }
  const std::vector<std::string>& hosts() const override { return rendezvous_->hosts(); }
  Error Fail(const Error& error) override { return rendezvous_->Fail(error); }
  Status Finish() override { return rendezvous_->Finish(); }
  Channel& channel() override { return rendezvous_->channel(); }

  Result<std::string> Share(std::string text) override {
    Channel& to = rendezvous_->channel();
    auto length = static_cast<int64_t>(text.size());
    if (rank() != 0) {
      PW_RETURN_IF_ERROR(to.Receive(0, &length, sizeof length));
      text.resize(static_cast<size_t>(length));
      if (length > 0) PW_RETURN_IF_ERROR(to.Receive(0, text.data(), length));
      return text;
    }
    for (int32_t other = 1; other < size(); ++other) {
      PW_RETURN_IF_ERROR(to.Send(other, &length, sizeof length));
      if (length > 0) PW_RETURN_IF_ERROR(to.Send(other, text.data(), length));
    }
    return text;
  }

 private:
  const std::unique_ptr<Rendezvous> rendezvous_;
};

}  // namespace

Result<std::unique_ptr<Processes>> JoinProcesses(const JoinRequest& request) {
  PW_ASSIGN(const auto environment, ReadProcessEnvironment(ThisEnvironment()));
  if (!environment) return std::unique_ptr<Processes>();
  RendezvousOptions options;
  options.start = options.silence = request.timeout;
  options.messages.timeout = request.message_timeout;
  options.failure = request.failure;
  options.stop = StopToken(request.interrupted);
  options.facts = request.facts;
  options.facts.emplace_back("the version of LibTorch", kTorchVersion);
  PW_ASSIGN(auto rendezvous, Rendezvous::Join(*environment, options));
  return std::unique_ptr<Processes>(std::make_unique<ProcessesHere>(std::move(rendezvous)));
}

}  // namespace placewright
