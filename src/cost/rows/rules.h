// The table of op types: which share a rule for how work follows from tensors, and its figures.
#ifndef PLACEWRIGHT_COST_ROWS_RULES_H_
#define PLACEWRIGHT_COST_ROWS_RULES_H_

#include <span>
#include <string_view>

#include "cost/rows/op_view.h"
#include "cost/work.h"

namespace placewright {

struct WorkRow;
// Fills flops, macs, bytes, workspace, depth; may refine op_class, which starts as the row's.
using WorkRule = void (*)(const OpView& op, const WorkRow& row, Work& work);

struct WorkRow {
  std::string_view types;  // with spaces between; without "aten." and overload, without the domain
  OpClass op_class = OpClass::kOther;
  WorkRule rule = nullptr;
  double flops = 0;  // per element of the largest tensor, where the rule uses it
  int passes = 1;    // how often the large inputs are read, where the rule uses it
};

// The row of an op type as graphs have it ("aten.add_.Tensor", "Conv", "tf.MatMul"); nullptr where
// no table has one.
const WorkRow* FindWorkRow(std::string_view op_type);

// Arithmetic per element, in flops of a multiply-add unit: a quotient or root costs about as much
// as 8, exp, log, erf and the like as 16 (quarter rate of the special function units and the range
// reduction around them: CUDA C++ Programming Guide, "Arithmetic Instructions").
inline constexpr double kCheap = 1, kDivide = 8, kTranscendental = 16;

// Tables. None names a type twice.
std::span<const WorkRow> AtenRows();
std::span<const WorkRow> OnnxRows();
std::span<const WorkRow> ContribRows();      // com.microsoft and ai.onnx.ml
std::span<const WorkRow> TensorflowRows();   // "tf." types of GraphDefs
std::span<const WorkRow> PlacewrightRows();  // "placewright." types of compiled steps
std::span<const WorkRow>
StoredRows();  // "stored." types: weights in 4 bits (docs/formats/aten-graph.md)

// Traffic rules (traffic_rules.cc).
void Streaming(const OpView& op, const WorkRow& row, Work& work);  // reads all, writes all
void WriteOnly(const OpView& op, const WorkRow& row, Work& work);  // contents of inputs unused
void Nothing(const OpView& op, const WorkRow& row, Work& work);    // no kernel: empty, Shape
void FromRest(const OpView& op, const WorkRow& row, Work& work);   // input 0 is only written
void Gathering(const OpView& op, const WorkRow& row, Work& work);  // reads what it writes + indices
void Scattering(const OpView& op, const WorkRow& row,
                Work& work);  // in place: touches updates only
void ZeroAndAdd(const OpView& op, const WorkRow& row, Work& work);  // zeroes all, adds a part
void BagLookup(const OpView& op, const WorkRow& row, Work& work);   // a row per index, summed
void BagGradient(const OpView& op, const WorkRow& row, Work& work);
void SkipInput1(const OpView& op, const WorkRow& row, Work& work);  // input 1 only lends its shape
void PickOne(const OpView& op, const WorkRow& row, Work& work);     // one element per index
void Pooling(const OpView& op, const WorkRow& row, Work& work);     // flops by window
void BatchNorm(const OpView& op, const WorkRow& row, Work& work);   // two passes when training
void BatchNormBackward(const OpView& op, const WorkRow& row, Work& work);
void ByBytes(const OpView& op, const WorkRow& row, Work& work);  // body unknown: known = false

// Product rules (product_rules.cc).
void MatrixProduct(const OpView& op, const WorkRow& row, Work& work);     // mm, bmm, matmul, MatMul
void BiasedProduct(const OpView& op, const WorkRow& row, Work& work);     // addmm, baddbmm
void GroupedProduct(const OpView& op, const WorkRow& row, Work& work);    // _grouped_mm
void LinearLayer(const OpView& op, const WorkRow& row, Work& work);       // x, weight [n, k]
void UncountedProduct(const OpView& op, const WorkRow& row, Work& work);  // mv, dot: macs 0
void OnnxGemm(const OpView& op, const WorkRow& row, Work& work);
void OnnxEinsum(const OpView& op, const WorkRow& row, Work& work);

// Recurrent layers and attention as one op (recurrent_rules.cc).
void OnnxRecurrent(const OpView& op, const WorkRow& row, Work& work);  // flops: number of gates
// flops: the argument is_causal; 0: all scores are made, whatever is masked.
void AttentionForward(const OpView& op, const WorkRow& row, Work& work);
void AttentionBackward(const OpView& op, const WorkRow& row, Work& work);
void CausalAttentionPart(const OpView& op, const WorkRow& row, Work& work);
void CausalAttentionBackwardPart(const OpView& op, const WorkRow& row, Work& work);
void ContribAttention(const OpView& op, const WorkRow& row, Work& work);

// Convolutions (convolution_rules.cc).
void AtenConvolution(const OpView& op, const WorkRow& row, Work& work);
void AtenConvolutionBackward(const OpView& op, const WorkRow& row, Work& work);
void OnnxConvolution(const OpView& op, const WorkRow& row, Work& work);
void OnnxConvTranspose(const OpView& op, const WorkRow& row, Work& work);
void UncountedConvolution(const OpView& op, const WorkRow& row, Work& work);  // quantised: macs 0

// TensorFlow's layouts (tensorflow_rules.cc).
void TensorflowProduct(const OpView& op, const WorkRow& row, Work& work);
// flops: 0 forward, 1 gradient of the image, 2 gradient of the filter.
void TensorflowConvolution(const OpView& op, const WorkRow& row, Work& work);
// LSTM cells and layers with their weight as input 3 or 4; flops: products for each weight.
void TensorflowLstm(const OpView& op, const WorkRow& row, Work& work);

// Sets everything of a convolution: `image` [n, c, ...] is what each filter [o, c / groups, ...]
// makes (the output, or what a gradient comes in by), strides and dilations are all 1 or not.
void SetConvolution(const OpView& op, const Tensor& image, const Tensor& filter, int64_t groups,
                    bool unit_stride, Work& work);

// Sets class, flops, depth and bytes of a product of m x k by k x n, repeated `batch` times.
struct ProductShape {
  int64_t batch = 1, m = 1, n = 1, k = 1;
};
void SetProduct(const OpView& op, const ProductShape& shape, Work& work);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_ROWS_RULES_H_
