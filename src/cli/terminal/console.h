// Where the program's words go: results to standard output, everything else to standard error.
#ifndef PLACEWRIGHT_CLI_TERMINAL_CONSOLE_H_
#define PLACEWRIGHT_CLI_TERMINAL_CONSOLE_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/stop.h"
#include "formats/text/json.h"
#include "report/table.h"

namespace placewright {

class Console {
 public:
  // Reads NO_COLOR, TERM, COLUMNS, the locale's variables, and whether the outputs are terminals
  // and how wide.
  Console();

  bool json = false;   // results as one JSON object
  bool quiet = false;  // no notes, no progress

  const Style& style() const { return style_; }  // of standard output
  // True where a line that rewrites itself makes sense.
  bool ShowsProgress() const { return error_is_terminal_ && !quiet; }

  void Print(std::string_view text);
  void PrintJson(const Json& object);
  // On standard error, unless quiet: one line, which a terminal gets in lines of its width.
  void Note(std::string_view text);
  // The error in the asked form: an object on standard output, or lines on standard error.
  void PrintError(const Error& error);
  // A line that replaces the one before, cut to the terminal's width; an empty text takes the line away.
  void Progress(std::string_view text);
  // The same behind the seconds since then: "  3.4 s  fsdp".
  void Progress(Clock::time_point since, std::string_view text);

  // Flushes standard output. A reader that went away (a closed pipe) is no error; a full disk is.
  Status Finish();

 private:
  void WriteError(const std::string& text);
  void FlushOutput();

  Style style_, error_style_;
  bool error_is_terminal_ = false;
  bool progress_shown_ = false;
  int write_error_ = 0;  // errno of the first failed write to standard output
};

// {schema, error{code, message, file, place, remedy}}. `place`: of an error that says none.
Json ErrorToJson(const Error& error, std::string_view place = "");

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_TERMINAL_CONSOLE_H_
