// --svg and --html: a simulated step as a picture.
#ifndef PLACEWRIGHT_CLI_REQUEST_PICTURE_H_
#define PLACEWRIGHT_CLI_REQUEST_PICTURE_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/request/analysis.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/output_path.h"
#include "plan/plan.h"

namespace placewright {

struct PictureOptions {
  std::string svg, html;  // paths; empty: not asked for
};
void AddPictureOptions(CommandLine app, PictureOptions* options);

// Those that are asked for.
std::vector<NamedFile> FilesOf(const PictureOptions& options);

// `plan` needs names, times, devices, its space, samples, order and communication. `notes`: what the search or the reader says beside it, for the page. Errors:
// kFileUnwritable.
Status WritePictures(const PictureOptions& options, const StepInputs& of, const Analysis& analysis,
                     const Plan& plan, const std::vector<std::string>& notes = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_PICTURE_H_
