#include "runtime/ops/newer_ops.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <limits>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "aten/torch_version.h"
#include "runtime/ops/attention_ops.h"

namespace placewright {
namespace {

constexpr const char* kSafeSoftmax = "_safe_softmax";
constexpr const char* kAttention = "_scaled_dot_product_flash_attention_for_cpu";
constexpr const char* kAttentionBackward = "_scaled_dot_product_flash_attention_for_cpu_backward";

at::Tensor SafeSoftmax(const at::Tensor& self, int64_t dim, TorchOptional<at::ScalarType> dtype) {
  const at::Tensor shares = at::softmax(self, dim, dtype);
  const at::Tensor none =
      self.eq(-std::numeric_limits<double>::infinity()).all(dim, /*keepdim=*/true);
  return shares.masked_fill(none, 0);
}

std::tuple<at::Tensor, at::Tensor> Attention(const at::Tensor& query, const at::Tensor& key,
                                             const at::Tensor& value, double dropout_p,
                                             bool is_causal,
                                             const TorchOptional<at::Tensor>& attn_mask,
                                             TorchOptional<double> scale) {
  TORCH_CHECK(dropout_p == 0, "fused attention of the CPU does not drop out");
  return AttentionByProducts(query, key, value, {is_causal, 0, attn_mask, scale});
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> AttentionBackward(
    const at::Tensor& grad_out, const at::Tensor& query, const at::Tensor& key,
    const at::Tensor& value, const at::Tensor& out, const at::Tensor& logsumexp, double dropout_p,
    bool is_causal, const TorchOptional<at::Tensor>& attn_mask, TorchOptional<double> scale) {
  TORCH_CHECK(dropout_p == 0, "fused attention of the CPU does not drop out");
  return AttentionBackwardByProducts(grad_out, query, key, value, out, logsumexp,
                                     {is_causal, 0, attn_mask, scale});
}

// The groups of `offs`, which says where each ends.
at::Tensor GroupedProduct(const at::Tensor& self, const at::Tensor& mat2,
                          const TorchOptional<at::Tensor>& offs,
                          const TorchOptional<at::Tensor>& bias,
                          TorchOptional<at::ScalarType> out_dtype) {
  TORCH_CHECK(!bias.has_value() || !bias->defined(), "a grouped product takes no bias");
  const at::ScalarType type = out_dtype.has_value() ? *out_dtype : self.scalar_type();
  if (self.dim() == 3 && mat2.dim() == 3) return at::bmm(self, mat2).to(type);
  TORCH_CHECK(offs.has_value() && offs->defined(), "a grouped product needs the ends of groups");
  const at::Tensor ends = offs->to(at::kCPU, at::kLong).contiguous();
  const bool inner = self.dim() == 2 && mat2.dim() == 2, rows = self.dim() == 2 && !inner;
  std::vector<int64_t> sizes = {self.size(-2), mat2.size(-1)};
  if (inner) sizes.insert(sizes.begin(), ends.numel());
  const at::Tensor out = at::zeros(sizes, self.options().dtype(type));
  int64_t from = 0;
  for (int64_t group = 0; group < ends.numel(); ++group) {
    const int64_t length = ends.data_ptr<int64_t>()[group] - from;
    if (length > 0 && inner) {
      out[group].copy_(at::mm(self.narrow(1, from, length), mat2.narrow(0, from, length)));
    } else if (length > 0 && rows) {
      out.narrow(0, from, length).copy_(at::mm(self.narrow(0, from, length), mat2[group]));
    } else if (length > 0) {
      out.narrow(1, from, length).copy_(at::mm(self[group], mat2.narrow(1, from, length)));
    }
    from += length;
  }
  return out;
}

class Missing {
 public:
  Missing() : library_(torch::Library::FRAGMENT, "aten", c10::nullopt, __FILE__, __LINE__) {}

  template <class Kernel>
  void Add(const char* name, const char* schema, Kernel kernel) {
    if (c10::Dispatcher::singleton().findSchema({std::string("aten::") + name, ""})) return;
    library_.def((std::string(name) + schema).c_str(),
                 torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, kernel));
    added_.insert(std::string("aten.") + name + ".default");
  }
  const std::set<std::string>& added() const { return added_; }

 private:
  torch::Library library_;
  std::set<std::string> added_;
};

const Missing& Added() {
  static const auto* const missing = [] {
    auto* const made = new Missing;
    made->Add(kSafeSoftmax, "(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
              SafeSoftmax);
    made->Add(kAttention,
              "(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, "
              "*, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
              Attention);
    made->Add(kAttentionBackward,
              "(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, "
              "Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, "
              "float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)",
              AttentionBackward);
    made->Add("_grouped_mm",
              "(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, "
              "ScalarType? out_dtype=None) -> Tensor",
              GroupedProduct);
    return made;
  }();
  return *missing;
}

}  // namespace

void RegisterNewerOps() { (void)Added(); }

bool IsComposed(const std::string& type) { return Added().added().contains(type); }

}  // namespace placewright
