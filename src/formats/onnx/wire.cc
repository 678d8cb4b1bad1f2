#include "formats/onnx/wire.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <array>
#include <climits>

#include "base/units.h"

namespace placewright::onnx_import {
namespace {

// The messages of onnx.proto that can hold other messages or packed numbers; kLeaf holds neither.
enum Message : uint8_t {
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kSparseTensor,
  kValueInfo,
  kType,
  kTensorType,
  kShape,
  kElementHolder,  // sequence and optional: a type in field 1
  kMap,
  kTraining,
  kFunction,
  kAnnotation,
  kLeaf
};
enum Content : uint8_t { kMessage, kPacked };

struct Field {
  Message holder;
  uint32_t number;
  Content content;
  Message message;  // of kMessage
};

// Field numbers of onnx.proto; strings, bytes and numbers need no row.
constexpr std::array kFields = {
    Field{kModel, 7, kMessage, kGraph},
    Field{kModel, 8, kMessage, kLeaf},
    Field{kModel, 14, kMessage, kLeaf},
    Field{kModel, 20, kMessage, kTraining},
    Field{kModel, 25, kMessage, kFunction},
    Field{kGraph, 1, kMessage, kNode},
    Field{kGraph, 5, kMessage, kTensor},
    Field{kGraph, 11, kMessage, kValueInfo},
    Field{kGraph, 12, kMessage, kValueInfo},
    Field{kGraph, 13, kMessage, kValueInfo},
    Field{kGraph, 14, kMessage, kAnnotation},
    Field{kGraph, 15, kMessage, kSparseTensor},
    Field{kNode, 5, kMessage, kAttribute},
    Field{kAttribute, 5, kMessage, kTensor},
    Field{kAttribute, 6, kMessage, kGraph},
    Field{kAttribute, 7, kPacked, kLeaf},
    Field{kAttribute, 8, kPacked, kLeaf},
    Field{kAttribute, 10, kMessage, kTensor},
    Field{kAttribute, 11, kMessage, kGraph},
    Field{kAttribute, 14, kMessage, kType},
    Field{kAttribute, 15, kMessage, kType},
    Field{kAttribute, 22, kMessage, kSparseTensor},
    Field{kAttribute, 23, kMessage, kSparseTensor},
    Field{kTensor, 1, kPacked, kLeaf},
    Field{kTensor, 3, kMessage, kLeaf},
    Field{kTensor, 4, kPacked, kLeaf},
    Field{kTensor, 5, kPacked, kLeaf},
    Field{kTensor, 7, kPacked, kLeaf},
    Field{kTensor, 10, kPacked, kLeaf},
    Field{kTensor, 11, kPacked, kLeaf},
    Field{kTensor, 13, kMessage, kLeaf},
    Field{kSparseTensor, 1, kMessage, kTensor},
    Field{kSparseTensor, 2, kMessage, kTensor},
    Field{kSparseTensor, 3, kPacked, kLeaf},
    Field{kValueInfo, 2, kMessage, kType},
    Field{kType, 1, kMessage, kTensorType},
    Field{kType, 4, kMessage, kElementHolder},
    Field{kType, 5, kMessage, kMap},
    Field{kType, 8, kMessage, kTensorType},
    Field{kType, 9, kMessage, kElementHolder},
    Field{kTensorType, 2, kMessage, kShape},
    Field{kShape, 1, kMessage, kLeaf},
    Field{kElementHolder, 1, kMessage, kType},
    Field{kMap, 2, kMessage, kType},
    Field{kTraining, 1, kMessage, kGraph},
    Field{kTraining, 2, kMessage, kGraph},
    Field{kTraining, 3, kMessage, kLeaf},
    Field{kTraining, 4, kMessage, kLeaf},
    Field{kFunction, 7, kMessage, kNode},
    Field{kFunction, 9, kMessage, kLeaf},
    Field{kFunction, 11, kMessage, kAttribute},
    Field{kFunction, 12, kMessage, kValueInfo},
    Field{kAnnotation, 2, kMessage, kLeaf},
};

// Above the size of the largest generated class, a string object, and an unknown field.
constexpr int64_t kMessageBytes = 360, kStringBytes = 48, kFieldBytes = 16;
constexpr int kMaxDepth = 100;  // protobuf's own limit

// Field 1 of TensorProto and of TensorShapeProto; no operator of ONNX knows so many.
constexpr uint64_t kDimensions = 1;
constexpr size_t kMaxDimensions = 64;
// Fields of NodeProto.
constexpr uint64_t kNodeInput = 1, kNodeOutput = 2, kNodeType = 4, kNodeAttribute = 5;

const Field* FindField(Message holder, uint64_t number) {
  for (const Field& field : kFields) {
    if (field.holder == holder && field.number == number) return &field;
  }
  return nullptr;
}

class Walker {
 public:
  explicit Walker(std::string_view bytes) : bytes_(bytes) {}

  Status Walk(Message message, size_t end, int depth) {
    if (depth > kMaxDepth) return Corrupt("more than 100 levels of messages");
    const size_t begin = at_;
    bool has_type = message != kNode;
    size_t dimensions = 0;
    while (at_ < end) {
      uint64_t tag = 0;
      if (!Varint(end, &tag) || (tag >> 3) == 0) return Corrupt("an impossible field");
      structure_ = SaturatingAdd(structure_, kFieldBytes);
      if (message == kNode) CountNodeField(tag, &has_type);
      const size_t content = at_;
      PW_RETURN_IF_ERROR(Skip(message, tag, end, depth));
      if ((message == kTensor || message == kShape) && (tag >> 3) == kDimensions) {
        dimensions += message == kTensor ? NumbersIn(content, tag) : 1;
        if (dimensions > kMaxDimensions) return TooManyDimensions(begin);
      }
    }
    if (message == kNode) ++nodes_;
    if (has_type) return CheckLimits();
    return MakeError(ErrorCode::kField, "a node without an operator type",
                     fmt::format("byte {}", begin));
  }

  int64_t estimate() const { return SaturatingAdd(structure_, content_); }

 private:
  Error Corrupt(std::string_view what) const {
    return MakeError(ErrorCode::kFileCorrupt,
                     fmt::format("{}: truncated, damaged or no ONNX model", what),
                     fmt::format("byte {}", at_));
  }

  static Error TooManyDimensions(size_t begin) {
    return MakeError(ErrorCode::kField,
                     fmt::format("a tensor of more than {} dimensions", kMaxDimensions),
                     fmt::format("byte {}", begin));
  }

  // The numbers of a field that was passed over: one, or as many as its packed content ends.
  size_t NumbersIn(size_t content, uint64_t tag) const {
    if ((tag & 7) != 2) return 1;
    // One byte more ends the length.
    return static_cast<size_t>(
        std::count_if(bytes_.begin() + static_cast<std::ptrdiff_t>(content),
                      bytes_.begin() + static_cast<std::ptrdiff_t>(at_),
                      [](char c) { return static_cast<uint8_t>(c) < 0x80; }) -
        1);
  }

  // `tag` stands before a field of a node.
  void CountNodeField(uint64_t tag, bool* has_type) {
    const uint64_t number = tag >> 3;
    items_ += number == kNodeInput || number == kNodeOutput || number == kNodeAttribute ? 1 : 0;
    // An empty text is a zero for its length.
    *has_type = *has_type || (number == kNodeType && at_ < bytes_.size() && bytes_[at_] != '\0');
  }

  Status CheckLimits() const {
    const auto too_large = [](std::string message) {
      return MakeError(ErrorCode::kFileTooLarge, std::move(message), "",
                       "Check that the file is what it claims to be.");
    };
    if (nodes_ > kMaxNodes) return too_large(fmt::format("more than {} nodes", kMaxNodes));
    if (items_ > kMaxNodeItems) {
      return too_large(
          fmt::format("more than {} inputs, outputs and attributes of nodes", kMaxNodeItems));
    }
    if (structure_ <= kMaxStructureMemory) return Ok();
    return too_large(fmt::format("without its numbers and texts the model would take more than {}",
                                 FormatBytes(Bytes(kMaxStructureMemory))));
  }

  bool Varint(size_t end, uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 70 && at_ < end; shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes_[at_++]);
      if (shift < 64) *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  // Passes over the content of one field whose tag was read.
  Status Skip(Message message, uint64_t tag, size_t end, int depth) {
    uint64_t length = 0;
    switch (tag & 7) {
      case 0: return Varint(end, &length) ? Ok() : Status(Corrupt("a cut number"));
      case 1: length = 8; break;
      case 5: length = 4; break;
      case 2:
        if (!Varint(end, &length)) return Corrupt("a cut length");
        break;
      default: return Corrupt("a field of unknown kind");
    }
    if (length > end - at_) return Corrupt("a field longer than what holds it");
    const size_t inner_end = at_ + length;
    if ((tag & 7) == 2) {
      const Field* field = FindField(message, tag >> 3);
      if (field != nullptr && field->content == kMessage) {
        structure_ = SaturatingAdd(structure_, kMessageBytes);
        return Walk(field->message, inner_end, depth + 1);
      }
      // A packed number of one byte takes up to eight in memory.
      const int64_t growth = field != nullptr ? 8 : 1;
      structure_ = SaturatingAdd(structure_, kStringBytes);
      content_ = SaturatingAdd(content_, SaturatingMultiply(growth, static_cast<int64_t>(length)));
    }
    at_ = inner_end;
    return Ok();
  }

  std::string_view bytes_;
  size_t at_ = 0;
  int64_t structure_ = 0, content_ = 0;  // estimated bytes
  int64_t nodes_ = 0, items_ = 0;
};

}  // namespace

Result<int64_t> EstimateMemory(std::string_view bytes) {
  Walker walker(bytes);
  PW_RETURN_IF_ERROR(walker.Walk(kModel, bytes.size(), 0));
  return walker.estimate();
}

Result<onnx::ModelProto> ParseModel(std::string_view bytes) {
  if (bytes.size() > INT_MAX) {
    return MakeError(ErrorCode::kFileTooLarge, "an ONNX file of 2 GiB or more", "",
                     "Keep the weights in external data.");
  }
  PW_ASSIGN(const int64_t estimate, EstimateMemory(bytes));
  if (estimate > kMaxModelMemory) {
    return MakeError(
        ErrorCode::kFileTooLarge,
        fmt::format("the model would take about {} in memory, more than the limit of {}",
                    FormatBytes(Bytes(estimate)), FormatBytes(Bytes(kMaxModelMemory))));
  }
  google::protobuf::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream stream(&array);
  stream.SetTotalBytesLimit(INT_MAX);
  onnx::ModelProto model;
  if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return MakeError(ErrorCode::kFileCorrupt, "the bytes are no protobuf message of an ONNX model");
  }
  if (!model.has_graph()) {
    return MakeError(ErrorCode::kField, "the model has no graph", "ModelProto.graph");
  }
  if (model.graph().node_size() == 0) {
    return MakeError(ErrorCode::kField, "the graph has no nodes", "ModelProto.graph.node");
  }
  return model;
}

}  // namespace placewright::onnx_import
