#include <cstdio>  // scotch.h needs FILE
//
#include <scotch.h>

#include <algorithm>

#include "graph/partition/library_graph.h"

namespace placewright {
namespace {

// Objects of the library that end with their scope.
template <class T, int (*kInit)(T*), void (*kExit)(T*)>
struct Scoped {
  T object;
  bool ok;
  Scoped() : ok(kInit(&object) == 0) {}
  ~Scoped() {
    if (ok) kExit(&object);
  }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;
  T* operator&() { return &object; }  // NOLINT: passed on as the library wants it
};
using ScopedContext = Scoped<SCOTCH_Context, &SCOTCH_contextInit, &SCOTCH_contextExit>;
using ScopedGraph = Scoped<SCOTCH_Graph, &SCOTCH_graphInit, &SCOTCH_graphExit>;
using ScopedArch = Scoped<SCOTCH_Arch, &SCOTCH_archInit, &SCOTCH_archExit>;
using ScopedStrat = Scoped<SCOTCH_Strat, &SCOTCH_stratInit, &SCOTCH_stratExit>;

// Integers in proportion to the parts' shares, each at least 1.
std::vector<SCOTCH_Num> PartWeights(const PartitionOptions& options) {
  constexpr double kScale = 10000;
  double total = 0;
  for (const auto& part : options.shares) total += part[0];
  std::vector<SCOTCH_Num> weights;
  for (int p = 0; p < options.parts; ++p) {
    const double share =
        total > 0 ? options.shares[p][0] / total : 1.0 / static_cast<double>(options.parts);
    weights.push_back(std::max<SCOTCH_Num>(1, static_cast<SCOTCH_Num>(share * kScale)));
  }
  return weights;
}

}  // namespace

Result<std::vector<int32_t>> PartitionScotch(const WeightedGraph& graph,
                                             const PartitionOptions& options) {
  const int32_t nodes = graph.nodes();
  std::vector<int32_t> part_of(nodes, 0);
  if (options.parts <= 1 || nodes == 0) return part_of;
  WeightedGraph first = graph;
  first.weights.resize(1);
  LibraryGraph<SCOTCH_Num> arrays(first);
  std::vector<SCOTCH_Num> result(nodes, 0);
  const std::vector<SCOTCH_Num> weights = PartWeights(options);

  const std::lock_guard lock(PartitionLibraryMutex());
  ScopedContext context;
  ScopedGraph source, bound;
  ScopedArch arch;
  ScopedStrat strategy;
  const SCOTCH_Num* offsets = arrays.offsets.data();
  // A context of its own: one thread, its own generator, and no dependence on earlier calls.
  const bool built =
      context.ok && source.ok && bound.ok && arch.ok && strategy.ok &&
      SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1) == 0 &&
      SCOTCH_contextThreadSpawn(&context, 1, nullptr) == 0 &&
      SCOTCH_contextRandomClone(&context) == 0 &&
      SCOTCH_graphBuild(&source, 0, nodes, offsets, offsets + 1, arrays.node_weights.data(),
                        nullptr, static_cast<SCOTCH_Num>(arrays.neighbours.size()),
                        arrays.neighbours.data(), arrays.edge_weights.data()) == 0 &&
      SCOTCH_archCmpltw(&arch, options.parts, weights.data()) == 0 &&
      SCOTCH_stratGraphMapBuild(&strategy, SCOTCH_STRATQUALITY, options.parts, options.imbalance) ==
          0;
  if (built) {
    SCOTCH_contextRandomSeed(&context, static_cast<SCOTCH_Num>(options.seed % 0x7fffffff));
    SCOTCH_contextRandomReset(&context);
  }
  if (!built || SCOTCH_contextBindGraph(&context, &source, &bound) != 0 ||
      SCOTCH_graphMap(&bound, &arch, &strategy, result.data()) != 0) {
    return MakeError(ErrorCode::kInternal,
                     "Scotch failed on a graph of " + std::to_string(nodes) + " nodes");
  }
  std::copy(result.begin(), result.end(), part_of.begin());
  return part_of;
}

}  // namespace placewright
