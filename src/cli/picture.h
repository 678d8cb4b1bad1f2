// --svg and --html: a simulated step as a picture.
#ifndef PLACEWRIGHT_CLI_PICTURE_H_
#define PLACEWRIGHT_CLI_PICTURE_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/inputs.h"
#include "plan/plan.h"
#include "report/table.h"
#include "sim/simulator.h"

namespace CLI {
class App;
}

namespace placewright {

// Of text on a page: any character, no escape sequences.
inline constexpr Style kPageStyle{false, true};

struct PictureOptions {
  std::string svg, html;  // paths; empty: not asked for
};
void AddPictureOptions(CLI::App* app, PictureOptions* options);

// Errors: kFileUnwritable, before there is anything to draw.
Status ProbePictures(const PictureOptions& options);

// `result` holds a schedule; `plan` needs names, times and devices. Errors: kFileUnwritable.
Status WritePictures(const PictureOptions& options, const Inputs& inputs,
                     const StepProgram& program, const Placement& placement,
                     const SimResult& result, const Plan& plan, std::string_view explanation);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_PICTURE_H_
