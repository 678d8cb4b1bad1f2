// The fields of a GraphDef one after another, of either form: protobuf's wire format or its text
// format. Nothing is built in memory; a message is a range of the file's bytes, so that a writer
// can change one field and leave all others as they stand, known or not.
//
// Schema: the public descriptions of tensorflow.GraphDef, NodeDef, AttrValue, TensorShapeProto and
// TensorProto, of which kRows (message.cc) names what Placewright reads.
#ifndef PLACEWRIGHT_FORMATS_GRAPHDEF_MESSAGE_H_
#define PLACEWRIGHT_FORMATS_GRAPHDEF_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace placewright::graphdef {

enum class Form : uint8_t { kBinary, kText };

enum class Message : uint8_t { kGraph, kNode, kEntry, kAttribute, kList, kShape, kDim, kTensor };

// Field numbers.
inline constexpr int kGraphNode = 1;
inline constexpr int kNodeName = 1, kNodeOp = 2, kNodeInput = 3, kNodeDevice = 4, kNodeAttr = 5;
inline constexpr int kEntryKey = 1, kEntryValue = 2;
inline constexpr int kAttrList = 1, kAttrS = 2, kAttrI = 3, kAttrB = 5, kAttrType = 6,
                     kAttrShape = 7, kAttrTensor = 8;
inline constexpr int kListS = 2, kListI = 3, kListB = 5, kListType = 6, kListShape = 7;
inline constexpr int kShapeDim = 2, kShapeUnknown = 3;
inline constexpr int kDimSize = 1;
inline constexpr int kTensorType = 1, kTensorShape = 2, kTensorContent = 4, kTensorInt = 7,
                     kTensorInt64 = 10;

struct Range {
  size_t begin = 0, end = 0;
  size_t size() const { return end - begin; }
};

struct Field {
  int number = 0;
  Message message = Message::kGraph;  // of a field that holds one
  Range whole;                        // the field with its name or tag
  Range content;        // of a message: what is between its braces; of bytes on the wire: the bytes
  int64_t integer = 0;  // of a number; an enumeration's and a bool's value
  std::string text;     // of bytes, text escapes resolved
  bool packed = false;  // numbers on the wire, one after another in `text`
};

// Offsets count from the start of `file`, which must outlive the cursor.
class FieldCursor {
 public:
  // The fields of the whole file.
  FieldCursor(std::string_view file, Form form)
      : FieldCursor(file, form, Message::kGraph, {0, file.size()}) {}
  // The fields of the message that `field` holds.
  FieldCursor Inside(const Field& field) const {
    return FieldCursor(file_, form_, field.message, field.content);
  }

  // The next field that the schema names; false at the end. Fields without a row are passed over,
  // in text after a look at their braces. Errors: kFileCorrupt (wire: cut or impossible fields),
  // kSyntax (text, naming the line; more than 100 levels of braces).
  Result<bool> Next(Field* field);

  Form form() const { return form_; }
  // "byte 17" or "line 3", for messages.
  std::string Place(size_t offset) const;

 private:
  FieldCursor(std::string_view file, Form form, Message message, Range range)
      : file_(file), form_(form), message_(message), at_(range.begin), end_(range.end) {}

  Result<bool> NextBinary(Field* field);
  Result<bool> NextText(Field* field);
  Status TextValue(Field* field, bool wanted);
  Status TextScalar(Field* field, bool wanted);
  Status SkipBraces(Range* content);
  Status SkipString();
  void SkipBlanks();
  std::string_view Word();  // up to a character that is in none; may be empty
  bool Varint(uint64_t* value);
  Error Damaged(std::string_view what) const;

  std::string_view file_;
  Form form_;
  Message message_;
  size_t at_, end_;
  // Text: inside `name: [`, whose field the next values belong to.
  bool in_list_ = false;
  Field list_field_;
  int list_kind_ = 0;
};

// The numbers of a packed field. False if they are cut.
bool NextPacked(std::string_view* bytes, int64_t* value);

// How the file begins. Binary: a first field as of a GraphDef's first node, or of its versions.
// Text: the name of a field of GraphDef.
bool LooksLikeBinaryGraphDef(std::string_view bytes);
bool LooksLikeTextGraphDef(std::string_view bytes);

}  // namespace placewright::graphdef

#endif  // PLACEWRIGHT_FORMATS_GRAPHDEF_MESSAGE_H_
