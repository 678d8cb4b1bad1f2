// The lessons of one game of TAG's self-play as a few tensors of a training's state. What all of them have alike stands
// once: most numbers of their graphs, and the slices.
//
//   nodes     [units, device groups]
//   data      [edges, 2]
//   alike     [numbers of a graph]: the first lesson's; differs: where others have something else; others [lessons, those]
//   groups    [slices, device groups]: the set; options [slices]
//   has       [lessons, slices]; targets: of those that it has, one lesson after the other
//   next      [lessons]
#ifndef PLACEWRIGHT_LEARN_TAG_STORED_LESSONS_H_
#define PLACEWRIGHT_LEARN_TAG_STORED_LESSONS_H_

#include <span>
#include <vector>

#include "base/result.h"
#include "learn/store/stored_tensors.h"
#include "search/tag/lesson.h"

namespace placewright {

// Of one problem, one at least.
void StoreLessons(std::span<const TagLesson> lessons, StateWriter& state);

// As they were stored, but for their slices: these come by set and option, and have what the network sees of them
// alone. Errors: kField.
Result<std::vector<TagLesson>> RestoreLessons(const StateReader& state);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_TAG_STORED_LESSONS_H_
