#include "runtime/ops/newer_ops.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <cmath>
#include <limits>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "aten/torch_version.h"

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

// The CPU's kernel adds up in float32 what has fewer bits.
at::ScalarType SumType(const at::Tensor& of) {
  return of.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

double ScaleOf(const at::Tensor& query, const TorchOptional<double>& scale) {
  return scale.has_value() ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
}

// [batch heads queries keys]
at::Tensor Scores(const at::Tensor& query, const at::Tensor& key, bool is_causal,
                  const TorchOptional<at::Tensor>& mask, double scale) {
  at::Tensor scores = at::matmul(query, key.transpose(-2, -1)) * scale;
  if (is_causal) {
    const at::Tensor later =
        at::ones({query.size(-2), key.size(-2)}, query.options().dtype(at::kBool)).triu(1);
    scores = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
  }
  if (!mask.has_value() || !mask->defined()) return scores;
  if (mask->scalar_type() != at::kBool) return scores + mask->to(scores.scalar_type());
  return scores.masked_fill(mask->logical_not(), -std::numeric_limits<double>::infinity());
}

// Keys and values that several heads of queries share (grouped queries), for each of these.
at::Tensor ForHeads(const at::Tensor& of, const at::Tensor& query, at::ScalarType type) {
  const int64_t heads = query.size(1), own = of.size(1);
  TORCH_CHECK(own > 0 && heads % own == 0,
              "heads of keys and values do not divide those of queries");
  return heads == own ? of.to(type) : of.to(type).repeat_interleave(heads / own, 1);
}
// The gradient of one of these, of what was made for each head.
at::Tensor SumForHeads(const at::Tensor& grad, const at::Tensor& of) {
  if (grad.size(1) == of.size(1)) return grad;
  return grad.unflatten(1, at::IntArrayRef({of.size(1), -1})).sum(2);
}

// As the kernels lay out gradients of [batch heads places width]: heads behind places. Their output lies as the query
// does.
at::Tensor HeadsInside(const at::Tensor& value, at::ScalarType type) {
  return value.transpose(1, 2).to(type).contiguous().transpose(1, 2);
}

// Of rows without any key: 0.
at::Tensor SharesOf(const at::Tensor& scores, const at::Tensor& logsumexp) {
  return (scores - logsumexp.unsqueeze(-1)).exp().nan_to_num(0);
}

std::tuple<at::Tensor, at::Tensor> Attention(const at::Tensor& query, const at::Tensor& key,
                                             const at::Tensor& value, double dropout_p,
                                             bool is_causal,
                                             const TorchOptional<at::Tensor>& attn_mask,
                                             TorchOptional<double> scale) {
  TORCH_CHECK(dropout_p == 0, "fused attention of the CPU does not drop out");
  const at::ScalarType type = SumType(query);
  const at::Tensor scores = Scores(query.to(type), ForHeads(key, query, type), is_causal, attn_mask,
                                   ScaleOf(query, scale));
  const at::Tensor sums = at::logsumexp(scores, {-1});
  const at::Tensor output = at::matmul(SharesOf(scores, sums), ForHeads(value, query, type));
  at::Tensor laid_out = output.sizes() == query.sizes() ? at::empty_like(query).copy_(output)
                                                        : HeadsInside(output, query.scalar_type());
  return {std::move(laid_out), HeadsInside(sums, type)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> AttentionBackward(
    const at::Tensor& grad_out, const at::Tensor& query, const at::Tensor& key,
    const at::Tensor& value, const at::Tensor& out, const at::Tensor& logsumexp, double dropout_p,
    bool is_causal, const TorchOptional<at::Tensor>& attn_mask, TorchOptional<double> scale) {
  TORCH_CHECK(dropout_p == 0, "fused attention of the CPU does not drop out");
  const at::ScalarType type = SumType(query);
  const double factor = ScaleOf(query, scale);
  const at::Tensor grad = grad_out.to(type);
  const at::Tensor keys = ForHeads(key, query, type), values = ForHeads(value, query, type);
  const at::Tensor shares =
      SharesOf(Scores(query.to(type), keys, is_causal, attn_mask, factor), logsumexp.to(type));
  const at::Tensor of_shares = at::matmul(grad, values.transpose(-2, -1));
  // sum_k shares_k of_shares_k of a row is what its output and the gradient of that give.
  const at::Tensor mean = (grad * out.to(type)).sum(-1, /*keepdim=*/true);
  const at::Tensor of_scores = shares * (of_shares - mean) * factor;
  const at::Tensor of_keys = at::matmul(of_scores.transpose(-2, -1), query.to(type)),
                   of_values = at::matmul(shares.transpose(-2, -1), grad);
  return {HeadsInside(at::matmul(of_scores, keys), query.scalar_type()),
          HeadsInside(SumForHeads(of_keys, key), key.scalar_type()),
          HeadsInside(SumForHeads(of_values, value), value.scalar_type())};
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
