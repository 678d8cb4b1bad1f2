// Links between GPUs by NCCL. Not by c10d's process group over it: what waits there ends by a watchdog of its own that
// ends the process, and one group for two devices of one process, or for two threads, is not possible.
//
// For each ordered pair of GPUs of two ranks there is a communicator of two, made when the first message crosses: the
// sender draws its number, and gives it to the receiver by the channel. Communicators do not block. The thread that
// waits for one looks at its state, the channel's (Abort) and the clock, and is the only one that calls NCCL with it.
//
// A kernel of NCCL that waits on a GPU for the other one may hold up whatever else waits for that device (an allocation
// that has to give memory back first, of a worker or of the other thread that sends or receives). So it is launched only
// where both ends have come and have their memory: the receiver takes a word by the channel then, and the sender goes on
// when it is taken. What both launch then needs nothing else to end, and crossings end as they do by the channel alone
// (crossing_order.h).
//
// Giving a communicator up may take until the other rank has given up its end (NCCL's proxy). So it is done beside: a
// transfer that fails aborts the channel first, and waits for its kernel alone.
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
  // Bytes. To launch a kernel and wait for it takes about as long as to copy so many to the host and back: an estimate,
  // from tens of microseconds for the one and some GB/s for the other; no GPU was at hand to measure it.
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

// Whether several ranks have GPUs that are not one, and all of these one version of NCCL.
bool CrossByNccl(const std::vector<std::vector<RankGpu>>& gpus);

// Those between GPUs of this rank and of others, where they cross by NCCL; nullptr: there are none. `channel` must outlive it.
std::unique_ptr<DeviceLinks> MakeNcclLinks(const NcclLibrary& library, Channel& channel,
                                           const std::vector<std::vector<RankGpu>>& gpus,
                                           const NcclLinkOptions& options = {});

// How tensors cross between GPUs of several ranks, in words; "": there are none.
std::string GpuTransfersText(const std::vector<std::vector<RankGpu>>& gpus);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROCESS_NCCL_LINKS_H_
