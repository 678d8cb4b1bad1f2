// CHECK: our own bugs, and only those. Bad input is a Result; infeasible is an ordinary value.
#ifndef PLACEWRIGHT_BASE_CHECK_H_
#define PLACEWRIGHT_BASE_CHECK_H_

#include <sstream>
#include <string>

namespace placewright {

// Prints the message and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const std::string& message);

namespace internal {
template <class A, class B>
std::string BothValues(const char* text, const A& a, const B& b) {
  std::ostringstream out;
  out << text << " (" << a << " vs " << b << ")";
  return out.str();
}
}  // namespace internal

}  // namespace placewright

#define PW_CHECK(condition) \
  ((condition) ? (void)0 : ::placewright::CheckFailed(__FILE__, __LINE__, #condition))
#define PW_CHECK_OP(a, b, op)                                                        \
  do {                                                                               \
    const auto& check_a = (a);                                                       \
    const auto& check_b = (b);                                                       \
    if (!(check_a op check_b))                                                       \
      ::placewright::CheckFailed(                                                    \
          __FILE__, __LINE__,                                                        \
          ::placewright::internal::BothValues(#a " " #op " " #b, check_a, check_b)); \
  } while (false)
#define PW_CHECK_EQ(a, b) PW_CHECK_OP(a, b, ==)
#define PW_CHECK_LT(a, b) PW_CHECK_OP(a, b, <)
#define PW_CHECK_LE(a, b) PW_CHECK_OP(a, b, <=)

#endif  // PLACEWRIGHT_BASE_CHECK_H_
