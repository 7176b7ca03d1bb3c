#include "queue.h"

#include "owner.h"

namespace srp::binding {

Queue::Queue(const srp_backend& backend, int32_t device) : backend_(backend), device_(device) {}

Queue::~Queue() {
  if (mark_) functions()->event_destroy(mark_);
  backend_.queue_destroy(queue_);
}

srp_status Queue::open() { return queue_ ? SRP_OK : backend_.queue_create(device_, &queue_); }

const srp_device_functions* Queue::functions() const { return backend_.device; }

srp_status Queue::wait_for(Queue& other) {
  const srp_device_functions& device = *functions();
  srp_status status = SRP_OK;
  if (!other.mark_) status = device.event_create(other.queue_, 0, &other.mark_);
  if (status == SRP_OK) status = device.event_record(other.queue_, other.mark_);
  return status == SRP_OK ? device.event_wait(queue_, other.mark_) : status;
}

}  // namespace srp::binding
