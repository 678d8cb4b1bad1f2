#include "search/sfb/shared_cut.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "search/sfb/minimum_cut.h"

namespace placewright {
namespace {

class SharedCut {
 public:
  SharedCut(const ReplicatedStep& step, const Communication& communication, int64_t price)
      : step_(step), communication_(communication), price_(price), parent_(step.nodes.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  Result<std::vector<CutPiece>> Find() {
    PW_RETURN_IF_ERROR(EstimateExchanges());
    BuildCut();
    (void)cut_.Solve();
    return Pieces();
  }

 private:
  Result<int64_t> Time(CollectiveKind kind, const ReplicatedStep::Tensor& tensor) const {
    CollectiveRequest request;
    request.kind = kind;
    request.whole = tensor.whole;
    request.largest_piece = tensor.slice;
    PW_ASSIGN(const CollectiveEstimate estimate, communication_.Estimate(request, step_.devices));
    return estimate.time.count;
  }

  // By tensor: what bringing all of it to every device takes.
  Status EstimateExchanges() {
    for (const ReplicatedStep::Tensor& tensor : step_.tensors) {
      int64_t time = 0;
      if (step_.servers && tensor.updates.valid()) {
        PW_ASSIGN(const int64_t one_way, Time(CollectiveKind::kBroadcast, tensor));
        time = 2 * one_way;
      } else if (tensor.from >= 0 || !tensor.completed) {
        PW_ASSIGN(time, Time(tensor.sum ? CollectiveKind::kAllReduce : CollectiveKind::kAllGather,
                             tensor));
      }
      exchange_.push_back(time);
    }
    return Ok();
  }

  int64_t ExtraOf(size_t node) const {
    const int64_t extra = step_.nodes[node].whole.count - step_.nodes[node].part.count;
    return SaturatingMultiply(std::max<int64_t>(0, extra), price_);
  }

  void BuildCut() {
    const auto nodes = static_cast<int32_t>(step_.nodes.size());
    cut_.Clear(nodes + static_cast<int32_t>(step_.tensors.size()));
    for (int32_t node = 0; node < nodes; ++node) {
      const auto at = static_cast<size_t>(node);
      cut_.AddSink(node, step_.nodes[at].pinned ? MinimumCut::kUncuttable : ExtraOf(at));
    }
    for (size_t i = 0; i < step_.tensors.size(); ++i) {
      const ReplicatedStep::Tensor& tensor = step_.tensors[i];
      if (tensor.from >= 0) {
        for (const int32_t adder : tensor.adders) {
          cut_.AddArc(tensor.from, adder, MinimumCut::kUncuttable);
        }
      }
      if (tensor.completed) {
        if (tensor.from >= 0) cut_.AddSource(tensor.from, exchange_[i]);
        continue;
      }
      const int32_t gathered = nodes + static_cast<int32_t>(i);
      for (const int32_t reader : tensor.readers) {
        cut_.AddArc(reader, gathered, MinimumCut::kUncuttable);
      }
      if (tensor.from >= 0) {
        cut_.AddArc(gathered, tensor.from, exchange_[i]);
      } else {
        cut_.AddSink(gathered, exchange_[i]);
      }
    }
  }

  bool Duplicated(int32_t node) const { return node >= 0 && cut_.OnSourceSide(node); }

  int32_t RootOf(int32_t node) {
    while (parent_[static_cast<size_t>(node)] != node) {
      int32_t& up = parent_[static_cast<size_t>(node)];
      up = parent_[static_cast<size_t>(up)];
      node = up;
    }
    return node;
  }

  // The first node of each piece stands for it.
  void Join(int32_t a, int32_t b) {
    a = RootOf(a);
    b = RootOf(b);
    parent_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }

  void JoinNodes() {
    for (const ReplicatedStep::Tensor& tensor : step_.tensors) {
      if (tensor.completed) continue;
      int32_t other = Duplicated(tensor.from) ? tensor.from : -1;
      for (const int32_t reader : tensor.readers) {
        if (!Duplicated(reader)) continue;
        if (other >= 0) Join(other, reader);
        other = reader;
      }
    }
  }

  std::vector<CutPiece> Pieces() {
    JoinNodes();
    std::vector<CutPiece> pieces;
    std::vector<int32_t> piece_of(step_.nodes.size(), -1);
    for (int32_t node = 0; node < static_cast<int32_t>(step_.nodes.size()); ++node) {
      if (!Duplicated(node)) continue;
      int32_t& piece = piece_of[static_cast<size_t>(RootOf(node))];
      if (piece < 0) {
        piece = static_cast<int32_t>(pieces.size());
        pieces.emplace_back();
      }
      CutPiece& of_node = pieces[static_cast<size_t>(piece)];
      of_node.nodes.push_back(node);
      of_node.gain -= ExtraOf(static_cast<size_t>(node));
    }
    const auto gain_of = [&](int32_t node) -> int64_t& {
      return pieces[static_cast<size_t>(piece_of[static_cast<size_t>(RootOf(node))])].gain;
    };
    for (size_t i = 0; i < step_.tensors.size(); ++i) {
      const ReplicatedStep::Tensor& tensor = step_.tensors[i];
      if (Duplicated(tensor.from)) {
        if (tensor.completed) gain_of(tensor.from) += exchange_[i];
        continue;
      }
      if (tensor.completed) continue;
      const auto reader = std::find_if(tensor.readers.begin(), tensor.readers.end(),
                                       [&](int32_t node) { return Duplicated(node); });
      if (reader != tensor.readers.end()) gain_of(*reader) -= exchange_[i];
    }
    std::stable_sort(pieces.begin(), pieces.end(),
                     [](const CutPiece& a, const CutPiece& b) { return a.gain > b.gain; });
    return pieces;
  }

  const ReplicatedStep& step_;
  const Communication& communication_;
  const int64_t price_;
  MinimumCut cut_;
  std::vector<int64_t> exchange_;  // by tensor, ns
  std::vector<int32_t> parent_;    // by node
};

}  // namespace

Result<std::vector<CutPiece>> CutForAllGradients(const ReplicatedStep& step,
                                                 const Communication& communication,
                                                 int64_t price) {
  return SharedCut(step, communication, price).Find();
}

}  // namespace placewright
