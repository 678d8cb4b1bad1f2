// What the traversal-order study shows: as text, as Markdown, as JSON.
#ifndef PLACEWRIGHT_STUDY_TRAVERSAL_REPORT_H_
#define PLACEWRIGHT_STUDY_TRAVERSAL_REPORT_H_

#include <string>

#include "formats/text/json.h"
#include "report/table.h"
#include "study/traversal/findings.h"

namespace placewright {

// Tables II-IV: wins of ours, and in brackets those published of 32 graphs.
std::string RenderTraversal(const TraversalStore& store, TraversalPolicy policy,
                            const Style& style);
std::string TraversalMarkdown(const TraversalStore& store, TraversalPolicy policy);
Json TraversalJson(const TraversalStore& store);

}  // namespace placewright

#endif  // PLACEWRIGHT_STUDY_TRAVERSAL_REPORT_H_
