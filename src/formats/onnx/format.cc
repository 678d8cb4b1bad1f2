#include "formats/onnx/format.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "formats/onnx/reader.h"

namespace placewright {
namespace {

// The bytes may begin a ModelProto: the first tag is one of its fields.
Match RecognizeOnnx(const GraphHead& head) {
  struct Field {
    int number, wire_type;  // 0: varint, 2: length-delimited
  };
  constexpr std::array<Field, 11> kFields = {
      {{1, 0}, {2, 2}, {3, 2}, {4, 2}, {5, 0}, {6, 2}, {7, 2}, {8, 2}, {14, 2}, {20, 2}, {25, 2}}};
  if (head.json != nullptr) return Match::kNone;
  const auto byte = [&](size_t i) {
    return i < head.bytes.size() ? static_cast<int>(static_cast<unsigned char>(head.bytes[i])) : 0;
  };
  const int tag = byte(0) < 128 ? byte(0) : (byte(0) & 127) | byte(1) << 7;
  const bool known = std::any_of(kFields.begin(), kFields.end(), [tag](const Field& field) {
    return tag == (field.number << 3 | field.wire_type);
  });
  return known ? Match::kPossible : Match::kNone;
}

Status LoadOnnx(std::string_view bytes, const GraphInputOptions& options, LoadedGraph* loaded) {
  OnnxOptions onnx;
  onnx.batch = options.batch;
  onnx.dimensions = options.dimensions;
  onnx.assume_dimensions = options.assume_dimensions;
  onnx.prove_batch = options.prove_batch;
  onnx.folder = std::filesystem::path(loaded->path).parent_path().string();
  if (onnx.folder.empty()) onnx.folder = ".";
  OnnxReport report;
  PW_ASSIGN(loaded->graph, ReadOnnx(bytes, onnx, &report));
  loaded->assumed_shapes = std::move(report.assumed_shapes);
  loaded->assumed_dimensions = std::move(report.assumed_dimensions);
  return Ok();
}

}  // namespace

constinit const GraphFormat kOnnxFormat = {
    .name = "an ONNX model",
    .extension = ".onnx",
    .takes_batch = true,
    .takes_dimensions = true,
    .recognize = RecognizeOnnx,
    .read = LoadOnnx,
};

}  // namespace placewright
