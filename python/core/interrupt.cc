#include "interrupt.h"

namespace placewright::python {
namespace {

// A signal handler has no other way to what it is for.
std::atomic<InterruptStops*> current{nullptr};

}  // namespace

InterruptStops::InterruptStops(bool enabled) : enabled_(enabled) {
  if (!enabled_) return;
  current.store(this);
  struct sigaction action {};
  action.sa_handler = &InterruptStops::Handle;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &before_);
}

InterruptStops::~InterruptStops() {
  if (!enabled_) return;
  sigaction(SIGINT, &before_, nullptr);
  current.store(nullptr);
}

void InterruptStops::Handle(int signal) {
  InterruptStops* const stops = current.load();
  if (stops == nullptr) return;
  if (!stops->interrupted_.exchange(true)) {
    stops->RequestStop();
  } else if (stops->before_.sa_handler != SIG_DFL && stops->before_.sa_handler != SIG_IGN) {
    stops->before_.sa_handler(signal);
  }
}

}  // namespace placewright::python
