#ifndef PLACEWRIGHT_GRAPH_CSR_H_
#define PLACEWRIGHT_GRAPH_CSR_H_

#include <cstdint>
#include <span>
#include <vector>

namespace placewright {

// Compressed rows: row i is items[offsets[i] .. offsets[i+1]).
template <class Row, class Item>
struct Csr {
  std::vector<int32_t> offsets{0};
  std::vector<Item> items;
  std::span<const Item> operator[](Row row) const {
    return {items.data() + offsets[row.index()],
            static_cast<size_t>(offsets[row.index() + 1] - offsets[row.index()])};
  }
  friend bool operator==(const Csr&, const Csr&) = default;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_CSR_H_
