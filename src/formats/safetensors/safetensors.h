// The safetensors format: named tensors behind a header in JSON. Eight bytes with the header's length
// (little-endian), the header, the tensors' bytes.
#ifndef PLACEWRIGHT_FORMATS_SAFETENSORS_SAFETENSORS_H_
#define PLACEWRIGHT_FORMATS_SAFETENSORS_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/text/json.h"
#include "graph/graph.h"

namespace placewright {

struct SafeTensor {
  std::string dtype;  // as the format calls it: "F32", "I64", "BOOL", ...
  std::vector<int64_t> shape;
  std::string_view bytes;  // elements in row-major order, little-endian; of what was parsed
};

struct SafeTensors {
  Json header;               // `__metadata__` with the others
  std::string_view content;  // all tensors' bytes
  std::map<std::string, std::string> metadata;
  std::map<std::string, SafeTensor> tensors;
};

// `bytes` must outlive the result. Errors: kFormatUnknown (no such file), kFileCorrupt (truncated, a
// tensor that is not where the header says, or not as long as its shape), kField.
Result<SafeTensors> ParseSafetensors(std::string_view bytes);

// Header and content, aligned to eight bytes. `header` has the tensors' offsets in `content`.
std::string FormatSafetensors(const Json& header, std::string_view content);

// A file under construction.
class SafetensorsWriter {
 public:
  void Metadata(const std::string& key, const std::string& value) {
    header_["__metadata__"][key] = value;
  }
  void Add(const std::string& name, std::string_view dtype, const std::vector<int64_t>& shape,
           std::string_view bytes);
  const Json& header() const { return header_; }
  const std::string& content() const { return content_; }
  std::string Write() const { return FormatSafetensors(header_, content_); }

 private:
  Json header_ = Json::object();
  std::string content_;
};

// Bytes of an element; 0 for a name that the format has not.
int64_t SafetensorsElement(std::string_view dtype);
// "F32" for kF32; "" for what the format has not (complex numbers, strings, opaque ones).
std::string_view SafetensorsName(DType dtype);

// kPlanMismatch: a file's tensor is not what `where` ("the graph") has by that name.
Error SafeTensorMismatch(const SafeTensor& found, std::string_view name, DType dtype,
                         const std::vector<int64_t>& shape, std::string_view where,
                         std::string remedy);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_SAFETENSORS_SAFETENSORS_H_
