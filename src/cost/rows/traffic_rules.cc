// Rules for ops that memory bounds: what they read and write, and a few flops an element.
#include <algorithm>

#include "cost/rows/rules.h"

namespace placewright {
namespace {

int64_t LargestElements(const OpView& op) {
  int64_t largest = 0;
  for (size_t i = 0; i < op.input_count(); ++i) {
    largest = std::max(largest, Elements(*op.input(i)));
  }
  for (size_t i = 0; i < op.output_count(); ++i) {
    largest = std::max(largest, Elements(*op.output(i)));
  }
  return largest;
}

void SetTraffic(int64_t read, int64_t written, Work& work) {
  work.bytes_read = Bytes(read);
  work.bytes_written = Bytes(written);
}

// Every input as large as the largest is read `passes` times, the others once.
int64_t ReadBytes(const OpView& op, int passes) {
  int64_t bytes = op.InputBytes();
  if (passes <= 1) return bytes;
  int64_t largest = 0;
  for (size_t i = 0; i < op.input_count(); ++i) {
    largest = std::max(largest, TouchedBytes(*op.input(i)));
  }
  for (size_t i = 0; i < op.input_count(); ++i) {
    if (TouchedBytes(*op.input(i)) != largest) continue;
    bytes = SaturatingAdd(bytes, SaturatingMultiply(largest, passes - 1));
  }
  return bytes;
}

void SetFlops(const OpView& op, const WorkRow& row, Work& work) {
  work.flops = row.flops * static_cast<double>(LargestElements(op));
}

}  // namespace

void Streaming(const OpView& op, const WorkRow& row, Work& work) {
  SetTraffic(ReadBytes(op, row.passes), op.OutputBytes(), work);
  SetFlops(op, row, work);
}

void WriteOnly(const OpView& op, const WorkRow& row, Work& work) {
  SetTraffic(0, op.OutputBytes(), work);
  SetFlops(op, row, work);
}

void Nothing(const OpView&, const WorkRow&, Work&) {}

void FromRest(const OpView& op, const WorkRow& row, Work& work) {
  SetTraffic(op.InputBytes(1), op.OutputBytes(), work);
  SetFlops(op, row, work);
}

void Gathering(const OpView& op, const WorkRow& row, Work& work) {
  const int64_t out = op.OutputBytes();
  SetTraffic(SaturatingAdd(out, op.InputBytes(1)), out, work);
  work.flops = row.flops * static_cast<double>(op.output(0) ? Elements(*op.output(0)) : 0);
}

void Scattering(const OpView& op, const WorkRow& row, Work& work) {
  int64_t updates = 0, updated = 0;
  for (size_t i = 1; i < op.input_count(); ++i) {
    if (TouchedBytes(*op.input(i)) < updates) continue;
    updates = TouchedBytes(*op.input(i));
    updated = Elements(*op.input(i));
  }
  // The touched elements are read, changed and written.
  SetTraffic(SaturatingAdd(op.InputBytes(1), updates), updates, work);
  work.flops = row.flops * static_cast<double>(updated);
}

void ZeroAndAdd(const OpView& op, const WorkRow& row, Work& work) {
  const int64_t part = BytesOrZero(op.input(0));
  SetTraffic(SaturatingAdd(op.InputBytes(), row.flops > 0 ? part : 0),
             SaturatingAdd(op.OutputBytes(), part), work);
  work.flops = row.flops * static_cast<double>(op.input(0) ? Elements(*op.input(0)) : 0);
}

namespace {

// Bytes of one row of `width` per index.
int64_t RowsBytes(const Tensor* rows, const Tensor* indices) {
  if (rows == nullptr || indices == nullptr || rows->shape.empty()) return 0;
  const int64_t elements = SaturatingMultiply(Elements(*indices), rows->shape.back());
  return SaturatingMultiply(elements, SizeOf(rows->dtype));
}

}  // namespace

void BagLookup(const OpView& op, const WorkRow& row, Work& work) {
  const int64_t rows = RowsBytes(op.input(0), op.input(1));
  SetTraffic(SaturatingAdd(rows, op.InputBytes(1)), op.OutputBytes(), work);
  work.flops = row.flops * static_cast<double>(rows) / 4;
}

// Zeroes the table, then adds the bag's gradient to the row of each index.
void BagGradient(const OpView& op, const WorkRow& row, Work& work) {
  const int64_t rows = RowsBytes(op.input(0), op.input(1));
  SetTraffic(SaturatingAdd(op.InputBytes(), rows), SaturatingAdd(op.OutputBytes(), rows), work);
  work.flops = row.flops * static_cast<double>(rows) / 4;
}

void SkipInput1(const OpView& op, const WorkRow& row, Work& work) {
  const int64_t lender = op.input_count() > 1 ? BytesOrZero(op.input(1)) : 0;
  SetTraffic(std::max<int64_t>(op.InputBytes() - lender, 0), op.OutputBytes(), work);
  SetFlops(op, row, work);
}

void PickOne(const OpView& op, const WorkRow& row, Work& work) {
  const Tensor* data = op.input(0);
  const int64_t picks = op.input(1) ? Elements(*op.input(1)) : 1;
  const int64_t picked = data ? SaturatingMultiply(picks, SizeOf(data->dtype)) : 0;
  SetTraffic(SaturatingAdd(op.InputBytes(1), picked), op.OutputBytes(), work);
  work.flops = row.flops * static_cast<double>(picks);
}

void Pooling(const OpView& op, const WorkRow& row, Work& work) {
  SetTraffic(op.InputBytes(), op.OutputBytes(), work);
  SetFlops(op, row, work);
  const Value* attribute = op.Attribute("kernel_shape");        // ONNX
  if (attribute == nullptr) attribute = op.Attribute("ksize");  // TensorFlow: 1 for n and c
  const auto window = OpView::Integers(attribute ? attribute : op.Arg(1));
  if (!window || op.output(0) == nullptr) return;
  const double area = static_cast<double>(Elements(*window));
  work.flops = row.flops * area * static_cast<double>(Elements(*op.output(0)));
}

// Training needs the statistics before it can normalise: the large tensors are read twice.
void BatchNorm(const OpView& op, const WorkRow& row, Work& work) {
  const bool aten = op.op().type.starts_with("aten.");
  const Value* flag = aten ? op.Arg(5) : op.Attribute("training_mode");
  SetTraffic(ReadBytes(op, OpView::BoolOr(flag, aten) ? 2 : 1), op.OutputBytes(), work);
  SetFlops(op, row, work);
}

// Their sums are needed before the gradient of x, which the mask may leave out.
void BatchNormBackward(const OpView& op, const WorkRow& row, Work& work) {
  const Value::List* const mask = op.Arg(9) == nullptr ? nullptr : op.Arg(9)->AsList();
  const bool of_x = mask == nullptr || mask->empty() || OpView::BoolOr(&mask->front(), true);
  const bool sums = OpView::BoolOr(op.Arg(7), true);
  SetTraffic(ReadBytes(op, of_x && sums ? 2 : 1), op.OutputBytes(), work);
  SetFlops(op, row, work);
}

void ByBytes(const OpView& op, const WorkRow& row, Work& work) {
  Streaming(op, row, work);
  work.known = false;
}

}  // namespace placewright
