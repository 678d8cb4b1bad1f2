// Numbers that are too small for a full mantissa: computing with them takes processors many times as long.
#ifndef PLACEWRIGHT_ATEN_DENORMALS_H_
#define PLACEWRIGHT_ATEN_DENORMALS_H_

namespace placewright {

// As long as one of them lives on a thread, such numbers count as 0 there, and on threads that it starts, as
// torch.set_flush_denormal has it. Else values that vanish as a model learns would decide what a step takes, and
// gates that saturate what a training does.
class WithoutDenormals {
 public:
  WithoutDenormals();
  ~WithoutDenormals();
  WithoutDenormals(const WithoutDenormals&) = delete;
  WithoutDenormals& operator=(const WithoutDenormals&) = delete;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_ATEN_DENORMALS_H_
