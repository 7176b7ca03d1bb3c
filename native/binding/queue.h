// A queue of a backend as the binding shares it: sessions, arrays that were used on it and graphs hold it, and it ends with
// the last of them.
#ifndef SURPRISAL_BINDING_QUEUE_H
#define SURPRISAL_BINDING_QUEUE_H

#include <memory>

#include "surprisal/backend.h"

namespace srp::binding {

struct Capture;

class Queue {
 public:
  Queue(const srp_backend& backend, int32_t device);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Creates the backend's queue on first use; SRP_OK with the queue in place, else the backend's refusal.
  srp_status open();
  srp_queue* get() const { return queue_; }

  const srp_backend& backend() const { return backend_; }
  // NULL where the library is older than device.h.
  const srp_device_functions* functions() const;
  int32_t device() const { return device_; }
  bool same_device(const Queue& other) const { return &backend_ == &other.backend_ && device_ == other.device_; }

  // Work enqueued here from now on runs after all work enqueued on `other` so far.
  srp_status wait_for(Queue& other);

  std::unique_ptr<Capture> capture;  // in progress

 private:
  const srp_backend& backend_;
  int32_t device_;
  srp_queue* queue_ = nullptr;
  srp_event* mark_ = nullptr;  // for wait_for
};

}  // namespace srp::binding

#endif
