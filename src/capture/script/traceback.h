// Reads what LibTorch's interpreter of scripts makes of an exception: a text with the code that was
// running, the innermost function last, and behind it the message.
#ifndef PLACEWRIGHT_CAPTURE_SCRIPT_TRACEBACK_H_
#define PLACEWRIGHT_CAPTURE_SCRIPT_TRACEBACK_H_

#include <string>

namespace placewright {

// "net.py line 11: if bool(y.sum() > 0)", of the innermost function that is not PyTorch's own, or
// else the innermost. The lines of the Python file where the module remembers them (traced modules
// without their code), else those of the file in the module. "" for a text without code.
std::string PlaceInCode(const std::string& traceback);

// "mat1 and mat2 shapes cannot be multiplied" behind "RuntimeError: ", the first line of it; the
// first line that is not empty where no error is named.
std::string RaisedMessage(const std::string& traceback);

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_SCRIPT_TRACEBACK_H_
