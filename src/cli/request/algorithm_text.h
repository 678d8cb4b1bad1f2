// What is said of an algorithm: `explain ALGO`, `train ALGO --settings`.
#ifndef PLACEWRIGHT_CLI_REQUEST_ALGORITHM_TEXT_H_
#define PLACEWRIGHT_CLI_REQUEST_ALGORITHM_TEXT_H_

#include <string>

#include "cli/terminal/console.h"
#include "formats/text/json.h"
#include "search/agent_settings.h"
#include "search/planner.h"

namespace placewright {

// [{name, default, published, values, meaning}]
Json SettingsToJson(const SettableAlgorithm& algorithm);
std::string RenderSettings(const SettableAlgorithm& algorithm, const Style& style);

// Its source, which plans it makes, and what --set changes.
void PrintAlgorithm(const Planner& planner, Console& console);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_ALGORITHM_TEXT_H_
