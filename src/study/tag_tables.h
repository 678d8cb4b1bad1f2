// The tables and figures of TAG (Zhang et al.), and what its search is judged by: tag4, tag5, tag6, tag7, tag8, tagfig5,
// tagfig6, tagfig7, tagfig8, tag-2s, tag-moves. Primary claims stand first; the others are exploratory, and say so.
#ifndef PLACEWRIGHT_STUDY_TAG_TABLES_H_
#define PLACEWRIGHT_STUDY_TAG_TABLES_H_

#include <vector>

#include "study/tables.h"

namespace placewright {

std::vector<StudyTable> TagTables();

}  // namespace placewright

#endif  // PLACEWRIGHT_STUDY_TAG_TABLES_H_
