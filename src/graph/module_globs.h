// Globs over module paths, as options and layout files have them (docs/constraints.md).
#ifndef PLACEWRIGHT_GRAPH_MODULE_GLOBS_H_
#define PLACEWRIGHT_GRAPH_MODULE_GLOBS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace placewright {

// The outermost of the path and its enclosing modules that the glob matches.
std::optional<std::string_view> OutermostMatch(std::string_view glob, std::string_view path);

// All paths of the graph with those of enclosing modules, which globs match, too; ascending.
std::vector<std::string> ModulePaths(const Graph& graph);

// A view of what an op of the step makes, or of an input that modules share, says nothing of its module.
// One of a parameter, a buffer, a constant is how its module holds it.
bool HoldsNothing(const Graph& graph, OpId op);

// Whether each op is of a module that the glob matches, or that is within one. Naming a module names its
// sub-modules. An op of the root module is also matched by its own name, so that graphs without module
// paths can be spoken of.
IdVector<OpId, bool> MatchingOps(const Graph& graph, std::string_view glob);

// The ops that a glob names: those that match. Views of what the step makes, and of inputs, are left out,
// unless the glob names nothing else: they lie where the op is that made what they view, often in the
// module before. Views of parameters, buffers and constants count: they are where these live. Ascending.
std::vector<OpId> OpsMatching(const Graph& graph, std::string_view glob);

// The colocation groups that globs over module paths name: those with an op in a module that it matches. One
// without ops of its own follows what is stated for its views.
class NamedGroups {
 public:
  // `graph` outlives it.
  explicit NamedGroups(const Graph& graph);
  // Ascending. Complexity: O(modules + groups + ops of the root module).
  std::vector<GroupId> By(std::string_view glob) const;

 private:
  // Ascending, each once.
  struct GroupsOfModule {
    std::vector<GroupId> of_ops, of_views;
  };
  GroupsOfModule OfRoot(std::string_view glob) const;

  const Graph& graph_;
  IdVector<ModuleId, GroupsOfModule> modules_;
  std::vector<OpId>
      at_root_;  // ops of modules without a path, which their names are asked for, too
  IdVector<GroupId, bool> has_op_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_MODULE_GLOBS_H_
