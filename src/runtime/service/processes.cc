#include "runtime/service/processes.h"

#include <algorithm>
#include <utility>

#include "aten/torch_version.h"
#include "runtime/process/rendezvous.h"
#include "torch_api/process_environment.h"

namespace placewright {
namespace {

class ProcessesHere final : public Processes {
 public:
  ProcessesHere(std::unique_ptr<Rendezvous> rendezvous, bool no_nccl)
      : rendezvous_(std::move(rendezvous)), no_nccl_(no_nccl) {}

  int32_t rank() const override { return rendezvous_->rank(); }
  int32_t size() const override { return rendezvous_->size(); }
  const std::vector<std::string>& hosts() const override { return rendezvous_->hosts(); }
  Error Fail(const Error& error) override { return rendezvous_->Fail(error); }
  Status Finish() override { return rendezvous_->Finish(); }
  Channel& channel() override { return rendezvous_->channel(); }
  bool no_nccl() const override { return no_nccl_; }

  Result<std::string> Share(std::string text) override {
    Channel& to = rendezvous_->channel();
    if (rank() != 0) return ReceiveText(to, 0);
    for (int32_t other = 1; other < size(); ++other) {
      PW_RETURN_IF_ERROR(SendText(to, other, text));
    }
    return text;
  }

 private:
  const std::unique_ptr<Rendezvous> rendezvous_;
  const bool no_nccl_;
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
  return std::unique_ptr<Processes>(
      std::make_unique<ProcessesHere>(std::move(rendezvous), request.no_nccl));
}

}  // namespace placewright
