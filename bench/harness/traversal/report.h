// What the traversal-order study shows: as text, as Markdown, as JSON.
#ifndef PLACEWRIGHT_BENCH_HARNESS_TRAVERSAL_REPORT_H_
#define PLACEWRIGHT_BENCH_HARNESS_TRAVERSAL_REPORT_H_

#include <string>

#include "formats/text/json.h"
#include "report/table.h"
#include "study/traversal/findings.h"

namespace placewright {

// Tables II-IV: wins of ours, and in brackets those published of 32 graphs. Of a learned policy also every order's
// mean steps against those of its controls.
std::string RenderTraversal(const TraversalStore& store, TraversalPolicy policy,
                            const Style& style);
std::string TraversalMarkdown(const TraversalStore& store, TraversalPolicy policy);
// The study's guidelines on its runs under both learned policies, and which order is the best on each family, as
// `advise` would say of graphs like them; "" without runs.
std::string RenderGuidelines(const TraversalStore& store, const Style& style);
std::string GuidelinesMarkdown(const TraversalStore& store);
Json TraversalJson(const TraversalStore& store);

// Of a family after so many episodes: which share of its graphs each order wins under each policy, 3, 5 and 8 devices
// together, beside the published share; an SVG. "" where no run is there.
std::string DrawTraversal(const TraversalStore& store, GraphFamily family, int64_t episodes);

}  // namespace placewright

#endif  // PLACEWRIGHT_BENCH_HARNESS_TRAVERSAL_REPORT_H_
