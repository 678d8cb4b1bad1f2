#ifndef PLACEWRIGHT_BASE_PREFETCH_H_
#define PLACEWRIGHT_BASE_PREFETCH_H_

namespace placewright {

// What lies there will be read soon: a hint and nothing more.
inline void Prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

}  // namespace placewright

#endif  // PLACEWRIGHT_BASE_PREFETCH_H_
