// An executable argument or attribute of an op, as the source file gives it.
#ifndef PLACEWRIGHT_GRAPH_VALUE_H_
#define PLACEWRIGHT_GRAPH_VALUE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace placewright {

// Refers to inputs[index] of the op that owns the value ("%1" in the ATen graph format).
struct InputRef {
  int32_t index = 0;
  friend bool operator==(InputRef, InputRef) = default;
};

class Value {
 public:
  using List = std::vector<Value>;
  using Variant = std::variant<std::monostate, bool, int64_t, double, std::string, InputRef, List>;

  Value() = default;
  template <class T>
  explicit Value(T value) : value_(std::move(value)) {}

  const Variant& variant() const { return value_; }
  bool IsNone() const { return std::holds_alternative<std::monostate>(value_); }
  // The value as that type, or nullptr.
  const bool* AsBool() const { return std::get_if<bool>(&value_); }
  const int64_t* AsInt() const { return std::get_if<int64_t>(&value_); }
  const double* AsDouble() const { return std::get_if<double>(&value_); }
  const std::string* AsString() const { return std::get_if<std::string>(&value_); }
  const InputRef* AsInput() const { return std::get_if<InputRef>(&value_); }
  const List* AsList() const { return std::get_if<List>(&value_); }
  List* AsList() { return std::get_if<List>(&value_); }

  friend bool operator==(const Value&, const Value&) = default;

 private:
  Variant value_;
};

struct NamedValue {
  std::string name;
  Value value;
  friend bool operator==(const NamedValue&, const NamedValue&) = default;
};

// "[24, 384, 768]", "%0", "null", "\"mean\"": for text forms and messages.
std::string ToString(const Value& value);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_VALUE_H_
