#include "aten/denormals.h"

#include <ATen/Context.h>

namespace placewright {
namespace {

thread_local int alive = 0;  // LibTorch does not say what is set

}  // namespace

WithoutDenormals::WithoutDenormals() {
  if (alive++ == 0) at::globalContext().setFlushDenormal(true);
}

WithoutDenormals::~WithoutDenormals() {
  if (--alive == 0) at::globalContext().setFlushDenormal(false);
}

}  // namespace placewright
