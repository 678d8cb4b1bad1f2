// Links between GPUs by NCCL. Not by c10d's process group over it: what waits there ends by a watchdog of its own that
// ends the process, and one group for two devices of one process, or for two threads, is not possible.
//
// For each ordered pair of GPUs of two ranks there is a communicator of two, made when the first message crosses: the
// sender draws its number, and gives it to the receiver by the channel. Communicators do not block. The thread that
// waits for one looks at its state, the channel's (Abort) and the clock, and is the only one that ever calls NCCL with it.
//
// Why kernels of NCCL that wait on a GPU for another one keep no step from ending. Such a kernel may hold up what the
// device's worker does (an allocation that waits for the whole device, say). One that receives is launched when the
// sender's message about it has come by the channel: the sender's thread is at this message, and has, or will, launch its
// own. One that sends ends when the receiver's thread comes to this message. Let f be the first crossing of the order
// (crossing_order.h) that has not ended: kernels that wait for ever belong to later ones, and their senders' threads
// have passed f; so no device that has something to compute for f is held up by one.
#ifndef PLACEWRIGHT_RUNTIME_PROCESS_NCCL_LINKS_H_
#define PLACEWRIGHT_RUNTIME_PROCESS_NCCL_LINKS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/process/channel.h"
#include "runtime/process/device_link.h"
#include "runtime/process/nccl_library.h"

namespace placewright {

// A GPU of one rank.
struct RankGpu {
  DeviceId device;
  c10::DeviceIndex index = 0;  // as that rank's LibTorch counts its devices
  // Which GPU of which machine it is: NCCL joins no GPU with itself.
  std::string identity;
  int nccl_version = 0;  // 0: none that can be used
};

struct NcclLinkOptions {
  // Bytes. To launch a kernel and wait for it takes about as long as to copy so many to the host and back.
  int64_t threshold = 64 << 10;
  c10::DeviceType devices = c10::DeviceType::CUDA;  // as LibTorch calls them; tests have CPUs
};

// What this rank says of its GPUs, by what LibTorch counts them as. `library`: nullptr where there is none, or it is not
// to be used.
std::vector<RankGpu> GpusOfRank(const std::vector<std::pair<DeviceId, c10::DeviceIndex>>& devices,
                                const NcclLibrary* library);

// [rank]: what each says, on all. All ranks call it in one order. Errors: the channel's.
Result<std::vector<std::vector<RankGpu>>> ExchangeGpus(Channel& channel,
                                                       const std::vector<RankGpu>& own);

// Those between GPUs of this rank and of others, where all ranks that have any have one version of NCCL; nullptr: there
// are none. `channel` must outlive it.
std::unique_ptr<DeviceLinks> MakeNcclLinks(const NcclLibrary& library, Channel& channel,
                                           const std::vector<std::vector<RankGpu>>& gpus,
                                           const NcclLinkOptions& options = {});

// How tensors cross between GPUs of several ranks, in words; "": there are none.
std::string GpuTransfersText(const std::vector<std::vector<RankGpu>>& gpus);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROCESS_NCCL_LINKS_H_
