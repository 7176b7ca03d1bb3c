// Memory on a device, and the queue that may still use it.
//
// Order across queues: an owner remembers the queue that used it last, and a use on another one waits for that first. So
// the last queue comes after all uses, and freeing the memory there is safe.
// Recorded work uses its arrays when it is launched, not when it is recorded: a capture collects the owners, its graph keeps
// them, and each launch is a use of all of them.
#ifndef SURPRISAL_BINDING_OWNER_H
#define SURPRISAL_BINDING_OWNER_H

#include <memory>
#include <string>
#include <vector>

#include "queue.h"

namespace srp::binding {

enum class Origin { kAllocated, kOpened, kForeign };

class Owner {
 public:
  Owner(Origin origin, void* pointer, std::shared_ptr<Queue> queue)
      : pointer_(static_cast<unsigned char*>(pointer)), origin_(origin), last_(std::move(queue)) {}
  ~Owner();
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  unsigned char* pointer() const { return pointer_; }
  const Queue& queue() const { return *last_; }

  // Before work on `queue` that reads or writes the memory. On failure it sets `error`.
  static srp_status use(const std::shared_ptr<Owner>& owner, const std::shared_ptr<Queue>& queue, std::string* error);

 private:
  friend struct Capture;
  unsigned char* pointer_;
  Origin origin_;
  std::shared_ptr<Queue> last_;
  const Capture* born_in_ = nullptr;  // the capture under way that made it
};

// Of a queue, until it ends.
struct Capture {
  std::vector<std::shared_ptr<Owner>> owners;

  void add(const std::shared_ptr<Owner>& owner);
  void adopt(const std::shared_ptr<Owner>& owner);  // made in it
  void end();
};

}  // namespace srp::binding

#endif
