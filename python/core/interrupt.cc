#include "interrupt.h"

namespace placewright::python {
namespace {

// A signal handler has no other way to what it is for.
std::atomic<InterruptStops*> current{nullptr};

}  // namespace

InterruptStops::InterruptStops(bool enabled) : enabled_(enabled) {
  if (!enabled_) return;
  outer_ = current.exchange(this);
  struct sigaction action {};
  action.sa_handler = &InterruptStops::Handle;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &before_);
}

InterruptStops::~InterruptStops() {
  if (!enabled_) return;
  sigaction(SIGINT, &before_, nullptr);
  current.store(outer_);
}

void InterruptStops::Handle(int signal) {
  for (InterruptStops* stops = current.load(); stops != nullptr; stops = stops->outer_) {
    if (!stops->interrupted_.exchange(true)) {
      stops->RequestStop();
      return;
    }
    const auto before = stops->before_.sa_handler;
    if (stops->outer_ == nullptr && before != SIG_DFL && before != SIG_IGN) before(signal);
  }
}

}  // namespace placewright::python
