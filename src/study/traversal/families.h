// Graphs for the traversal-order study, made up from seeds in the manner of those that it used. Placeto's
// authors published these three sets; they are no part of this program. 32 of each family, with the sizes,
// degrees and diameters of the study's Table I.
//
//   cifar10  convolutional networks of ENAS cells (Pham et al. 2018, sec. 2.3): blocks that add up
//            two branches, each a separable convolution, a pooling or nothing, of what came before
//   ptb      language models of recurrent ENAS cells (sec. 2.1), unrolled: nodes that take an earlier
//            one through a weight and an activation, with a highway past both; loose ends are averaged
//   nmt      encoder-decoders with attention, unrolled for a varying number of steps
//
// Nodes are groups, as the study's are: a forward op, and its backward op with it. A simulator runs
// both; what is placed, visited and counted is the group, and edges are those of forward ops. Times are
// those of the ops' arithmetic on a K80 (sizes and rates stand in the source), twice as long backwards.
// Updates of variables are left out: their gradients stay where they are made.
//
// Beside them `real`: training steps recorded elsewhere, from files that are no part of the program.
#ifndef PLACEWRIGHT_STUDY_TRAVERSAL_FAMILIES_H_
#define PLACEWRIGHT_STUDY_TRAVERSAL_FAMILIES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "formats/costs/costgraph_reader.h"
#include "study/traversal/group_graph.h"

namespace placewright {

enum class GraphFamily : uint8_t { kCifar10, kPtb, kNmt, kReal };
inline constexpr int kFamilySize = 32;

std::span<const GraphFamily> AllGraphFamilies();  // those that are made up
std::span<const GraphFamily> StudiedFamilies();   // and kReal
std::string_view ToString(GraphFamily family);    // "cifar10", "ptb", "nmt", "real"

// Graph `index` in [0, kFamilySize), with `devices` >= 1 equal devices of 12 GB whose links have the
// speed of Placeto's simulator (7,600 bytes a microsecond, 25 us). The graph depends on family and
// index alone.
CostGraph MakeFamilyGraph(GraphFamily family, int index, int devices);

// The files of `real`, in a folder of the user's: small enough for the study's 50 episodes.
std::span<const std::string_view> RealGraphFiles();
// What CountGroupGraph finds in one of these, known without the files.
GroupGraphStatistics RealGraphStatistics(int index);
// One of these with such devices; a node is a colocation group, times are modelled, those of a P100.
// Errors: those of reading a graph.
Result<CostGraph> LoadRealGraph(const std::string& folder, int index, int devices);

}  // namespace placewright

#endif  // PLACEWRIGHT_STUDY_TRAVERSAL_FAMILIES_H_
