#include "sharding/whole_by_nature.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace placewright {
namespace {

using Reasons = std::unordered_map<std::string_view, std::string_view>;

const Reasons& AllReasons() {
  static const Reasons reasons = [] {
    Reasons found;
    const auto add = [&](std::string_view reason, std::initializer_list<std::string_view> names) {
      for (const std::string_view name : names) found.emplace(name, reason);
    };
    add("the size of its result follows from values",
        {"nonzero", "nonzero_static", "masked_select", "_unique", "_unique2", "unique_dim",
         "unique_consecutive", "unique_dim_consecutive", "bincount", "repeat_interleave"});
    add("which elements it takes or writes where follows from all values before them",
        {"masked_scatter", "masked_scatter_backward", "put", "embedding_renorm",
         "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate"});
    add("its result is one number for the host",
        {"_local_scalar_dense", "equal", "allclose", "_is_all_true", "_is_any_true", "is_same_size",
         "is_pinned", "is_set_to", "_has_same_storage_numel"});
    add("it compares or sums all elements in one order",
        {"dist", "trace", "_pdist_forward", "_pdist_backward", "block_diag", "histogram",
         "_histogramdd_bin_edges", "_histogramdd_from_bin_cts", "_histogramdd_from_bin_tensors",
         "linalg_lstsq", "_linalg_check_errors", "_compute_linear_combination", "hash_tensor"});
    add("its sequences lie behind one another: where a sample begins follows from values",
        {"_pack_padded_sequence", "segment_reduce", "_segment_reduce_backward",
         "_jagged_to_padded_dense_forward", "_padded_dense_to_jagged_forward", "_chunk_cat"});
    // Of bags of one length, which the step proves, the batch is split (bags.h); of others it is whole by nature.
    add("its bags lie behind one another: where a bag begins follows from values",
        {"_embedding_bag", "_embedding_bag_forward_only", "_embedding_bag_backward",
         "_embedding_bag_dense_backward", "_embedding_bag_per_sample_weights_backward"});
    add("it names memory, not elements",
        {"as_strided", "as_strided_copy", "as_strided_scatter", "resize", "resize_as", "set",
         "_resize_output", "shallow_copy_data_", "record_stream", "slice_inverse"});
    add("its workspace is known to its kernel alone",
        {"_cudnn_rnn", "_cudnn_rnn_backward", "_cudnn_rnn_flatten_weight",
         "_cudnn_init_dropout_state", "miopen_rnn", "miopen_rnn_backward", "mkldnn_rnn_layer",
         "mkldnn_rnn_layer_backward", "_lstm_mps", "lstm_mps_backward", "_cudnn_ctc_loss",
         "miopen_ctc_loss", "_thnn_fused_lstm_cell_backward_impl",
         "_thnn_fused_gru_cell_backward"});
    add("recordings have native_batch_norm in its place, which is split",
        {"_batch_norm_no_update", "_batch_norm_with_update", "_batch_norm_with_update_functional",
         "_native_batch_norm_legit_functional", "batch_norm_backward", "batch_norm_backward_elemt",
         "batch_norm_backward_reduce", "batch_norm_elemt", "batch_norm_gather_stats",
         "batch_norm_gather_stats_with_counts", "batch_norm_stats", "batch_norm_update_stats"});
    add("recordings have aten.convolution in its place, which is split",
        {"_convolution", "_conv_depthwise2d", "conv_depthwise3d", "conv_tbc",
         "_slow_conv2d_forward", "_slow_conv2d_backward", "slow_conv3d_forward",
         "slow_conv_dilated2d", "slow_conv_dilated3d", "slow_conv_transpose2d",
         "slow_conv_transpose3d"});
    add("recordings have the operator in its place that calls it, which is split",
        {"_cummax_helper", "_cummin_helper", "linalg__powsum", "linear_backward", "matmul_backward",
         "max_pool2d_backward", "native_norm", "normal_functional", "rrelu_with_noise_functional"});
    add("rows of its groups lie behind one another, with scales of their own",
        {"_scaled_grouped_mm", "_scaled_grouped_mm_v2", "_scaled_addmm"});
    add("it draws numbers that follow from one another", {"randperm"});
    add("lengths of its sequences are numbers among its arguments",
        {"_ctc_loss", "_ctc_loss_backward"});
    return found;
  }();
  return reasons;
}

}  // namespace

std::string_view WhyWholeByNature(std::string_view type) {
  constexpr std::string_view kPrefix = "aten.";
  if (!type.starts_with(kPrefix)) return "";
  type.remove_prefix(kPrefix.size());
  type = type.substr(0, type.rfind('.'));
  const Reasons& reasons = AllReasons();
  auto found = reasons.find(type);
  if (found == reasons.end() && type.ends_with('_'))
    found = reasons.find(type.substr(0, type.size() - 1));
  return found == reasons.end() ? std::string_view() : found->second;
}

}  // namespace placewright
