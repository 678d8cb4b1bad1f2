// The values that the program's options know: algorithms, presets, formats, error codes, ...
#ifndef PLACEWRIGHT_CLI_SHELL_KNOWN_WORDS_H_
#define PLACEWRIGHT_CLI_SHELL_KNOWN_WORDS_H_

#include "cli/shell/command_tree.h"

namespace placewright {

KnownWords WordsOfTheProgram();

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_SHELL_KNOWN_WORDS_H_
