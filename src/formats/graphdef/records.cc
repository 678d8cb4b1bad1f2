#include "formats/graphdef/records.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "formats/graphdef/data_types.h"

namespace placewright::graphdef {
namespace {

constexpr size_t kMaxText = 256;    // characters of an attribute that are kept
constexpr size_t kMaxNumbers = 64;  // of a constant that are kept
constexpr size_t kMaxDims = 64;

class NodeReader {
 public:
  NodeReader(std::string_view file, Form form) : cursor_(file, form) {}

  Result<std::vector<Node>> Read() {
    std::vector<Node> nodes;
    Field field;
    for (;;) {
      PW_ASSIGN(const bool more, cursor_.Next(&field));
      if (!more) break;
      if (static_cast<int64_t>(nodes.size()) == kMaxNodes) {
        return TooLarge(fmt::format("more than {} nodes", kMaxNodes));
      }
      PW_ASSIGN(Node node, ReadNode(field));
      PW_RETURN_IF_ERROR(CheckNames(node, nodes.size()));
      nodes.push_back(std::move(node));
    }
    if (!nodes.empty()) return nodes;
    return MakeError(ErrorCode::kField, "the graph has no nodes", "GraphDef.node");
  }

 private:
  static Error TooLarge(std::string message) {
    return MakeError(ErrorCode::kFileTooLarge, std::move(message), "",
                     "Check that the file is what it claims to be.");
  }

  Status CountItem() {
    if (++items_ <= kMaxItems) return Ok();
    return TooLarge(
        fmt::format("more than {} inputs, attributes and dimensions of nodes", kMaxItems));
  }

  Status CheckNames(const Node& node, size_t index) const {
    const auto bad = [&](std::string what) {
      return MakeError(ErrorCode::kField, std::move(what),
                       PlaceOfNode(index, node.name) + ", " + cursor_.Place(node.whole.begin));
    };
    if (node.name.empty()) return bad("a node without a name");
    if (node.op.empty()) return bad("a node without an op");
    for (const std::string* text : {&node.name, &node.op, &node.device}) {
      if (!IsUtf8(*text)) return bad(fmt::format("\"{}\" is no UTF-8", Printable(*text, 80)));
    }
    if (node.name.front() == '^' || node.name.find(':') != std::string::npos) {
      return bad("the name of a node holds no ':' and begins with no '^'");
    }
    return Ok();
  }

  Result<Node> ReadNode(const Field& from) {
    Node node;
    node.whole = from.whole;
    FieldCursor inside = cursor_.Inside(from);
    Field field;
    for (;;) {
      PW_ASSIGN(const bool more, inside.Next(&field));
      if (!more) return node;
      switch (field.number) {
        case kNodeName: node.name = std::move(field.text); break;
        case kNodeOp: node.op = std::move(field.text); break;
        case kNodeDevice: node.device = std::move(field.text); break;
        case kNodeInput:
          PW_RETURN_IF_ERROR(CountItem());
          node.inputs.push_back(std::move(field.text));
          break;
        default: PW_RETURN_IF_ERROR(ReadEntry(inside.Inside(field), &node));
      }
    }
  }

  Status ReadEntry(FieldCursor entry, Node* node) {
    PW_RETURN_IF_ERROR(CountItem());
    std::string key;
    Field field, value;
    bool has_value = false;
    FieldCursor fields = entry;
    for (;;) {
      PW_ASSIGN(const bool more, fields.Next(&field));
      if (!more) break;
      if (field.number == kEntryKey) key = field.text;
      if (field.number == kEntryValue) {
        value = field;
        has_value = true;
      }
    }
    if (!has_value) return Ok();
    return ReadAttribute(key, entry.Inside(value), node);
  }

  Status ReadAttribute(const std::string& key, FieldCursor fields, Node* node) {
    Field field;
    for (;;) {
      PW_ASSIGN(const bool more, fields.Next(&field));
      if (!more) return Ok();
      switch (field.number) {
        case kAttrList: PW_RETURN_IF_ERROR(ReadList(key, fields.Inside(field), node)); break;
        case kAttrS: KeepText(key, field.text, node); break;
        case kAttrI: Keep(key, Value(field.integer), node); break;
        case kAttrB: Keep(key, Value(field.integer != 0), node); break;
        case kAttrType: TakeType(key, field.integer, node); break;
        case kAttrShape: {
          Shape shape;
          PW_RETURN_IF_ERROR(ReadShape(fields.Inside(field), &shape));
          if (key == "shape") node->shape = std::move(shape);
          break;
        }
        default:
          if (key == "value") PW_RETURN_IF_ERROR(ReadTensor(fields.Inside(field), node));
      }
    }
  }

  static void Keep(const std::string& key, Value value, Node* node) {
    if (!key.starts_with('_') && IsUtf8(key)) node->attributes.push_back({key, std::move(value)});
  }

  static void KeepText(const std::string& key, const std::string& text, Node* node) {
    if (text.size() <= kMaxText && IsUtf8(text)) Keep(key, Value(text), node);
  }

  static void TakeType(std::string_view key, int64_t type, Node* node) {
    if (key == "T") node->type = type;
    if (key == "dtype" || key == "DstT" || key == "out_type" || key == "output_type") {
      node->made_type = type;
    }
    if (key == "Tparams" && node->type == 0) node->type = type;
  }

  Status ReadList(const std::string& key, FieldCursor fields, Node* node) {
    Field field;
    Value::List numbers;
    const bool shapes = key == "_output_shapes", classes = key == "_class";
    const bool types = key == "component_types" || key == "dtypes" || key == "Tout";
    if (shapes) node->output_shapes.emplace();
    for (;;) {
      PW_ASSIGN(const bool more, fields.Next(&field));
      if (!more) break;
      PW_RETURN_IF_ERROR(CountItem());
      if (field.number == kListShape && shapes) {
        node->output_shapes->emplace_back();
        PW_RETURN_IF_ERROR(ReadShape(fields.Inside(field), &node->output_shapes->back()));
      } else if (field.number == kListS && classes) {
        node->colocated_with.push_back(std::move(field.text));
      } else if (field.number == kListType && types) {
        PW_RETURN_IF_ERROR(ForEachNumber(field, [&](int64_t n) { node->list_types.push_back(n); }));
      } else if (field.number == kListI) {
        PW_RETURN_IF_ERROR(ForEachNumber(field, [&](int64_t n) { numbers.push_back(Value(n)); }));
      }
    }
    if (!numbers.empty()) Keep(key, Value(std::move(numbers)), node);
    return Ok();
  }

  template <class Take>
  Status ForEachNumber(const Field& field, Take take) {
    if (!field.packed) {
      take(field.integer);
      return Ok();
    }
    std::string_view rest = field.text;
    while (!rest.empty()) {
      int64_t number = 0;
      if (!NextPacked(&rest, &number)) {
        return MakeError(ErrorCode::kFileCorrupt, "cut numbers: truncated, damaged or no GraphDef",
                         cursor_.Place(field.whole.begin));
      }
      PW_RETURN_IF_ERROR(CountItem());
      take(number);
    }
    return Ok();
  }

  Status ReadShape(FieldCursor fields, Shape* shape) {
    std::vector<int64_t> dims;
    Field field, size;
    bool unknown = false;
    for (;;) {
      PW_ASSIGN(const bool more, fields.Next(&field));
      if (!more) break;
      if (field.number == kShapeUnknown) {
        unknown = field.integer != 0;
        continue;
      }
      PW_RETURN_IF_ERROR(CountItem());
      int64_t extent = 0;  // proto3 leaves zeros out
      FieldCursor dim = fields.Inside(field);
      for (;;) {
        PW_ASSIGN(const bool has_size, dim.Next(&size));
        if (!has_size) break;
        extent = size.integer;
      }
      if (extent < -1 || dims.size() == kMaxDims) {
        return MakeError(ErrorCode::kField,
                         extent < -1 ? fmt::format("a dimension of size {}", extent)
                                     : fmt::format("more than {} dimensions", kMaxDims),
                         cursor_.Place(field.whole.begin));
      }
      dims.push_back(extent);
    }
    if (unknown) {
      shape->reset();
    } else {
      *shape = std::move(dims);
    }
    return Ok();
  }

  Status ReadTensor(FieldCursor fields, Node* node) {
    node->value_shape = std::vector<int64_t>();
    std::string content;
    Field field;
    for (;;) {
      PW_ASSIGN(const bool more, fields.Next(&field));
      if (!more) break;
      if (field.number == kTensorType) node->value_type = field.integer;
      if (field.number == kTensorShape) {
        PW_RETURN_IF_ERROR(ReadShape(fields.Inside(field), &*node->value_shape));
      }
      if (field.number == kTensorContent) content = std::move(field.text);
      if (field.number == kTensorInt || field.number == kTensorInt64) {
        if (field.packed && field.text.size() > 10 * kMaxNumbers) continue;
        PW_RETURN_IF_ERROR(ForEachNumber(field, [&](int64_t number) {
          if (node->value.size() <= kMaxNumbers) node->value.push_back(number);
        }));
      }
    }
    FinishTensor(content, node);
    return Ok();
  }

  // Integers, one for each element, or none: one number stands for all elements.
  static void FinishTensor(std::string_view content, Node* node) {
    const size_t width = node->value_type == kDtInt64 ? 8 : node->value_type == kDtInt32 ? 4 : 0;
    if (width > 0 && content.size() <= width * kMaxNumbers) {
      for (size_t at = 0; at + width <= content.size(); at += width) {
        uint64_t bits = 0;
        for (size_t i = width; i-- > 0;) {
          bits = bits << 8 | static_cast<uint8_t>(content[at + i]);
        }
        node->value.push_back(width == 8 ? static_cast<int64_t>(bits)
                                         : static_cast<int32_t>(static_cast<uint32_t>(bits)));
      }
    }
    size_t elements = 1;
    if (node->value_shape->has_value()) {
      for (const int64_t size : **node->value_shape) {
        elements *= static_cast<size_t>(std::clamp<int64_t>(size, 0, kMaxNumbers + 1));
        elements = std::min<size_t>(elements, kMaxNumbers + 1);
      }
    }
    std::vector<int64_t>& value = node->value;
    if (width == 0 || elements > kMaxNumbers || value.size() > elements || value.empty()) {
      value.clear();
    } else {
      value.resize(elements, value.back());
    }
  }

  FieldCursor cursor_;
  int64_t items_ = 0;
};

}  // namespace

std::string PlaceOfNode(size_t index, std::string_view name) {
  return fmt::format("nodes[{}] ({})", index, Printable(name, 80));
}

Result<std::vector<Node>> ReadNodes(std::string_view file, Form form) {
  return NodeReader(file, form).Read();
}

}  // namespace placewright::graphdef
