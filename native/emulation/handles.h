// Which handles are alive, and what they stand for: a stale one is refused, not followed.
#pragma once
#include <map>
#include <memory>
#include <mutex>

namespace srp::emulation {

// T is what stands behind the handle; a reference to it stays valid after the handle is gone.
template <class Handle, class T>
class Handles {
 public:
  Handle add(std::shared_ptr<T> made) {
    const Handle handle = reinterpret_cast<Handle>(made.get());
    std::lock_guard<std::mutex> lock(mutex_);
    alive_[handle] = std::move(made);
    return handle;
  }
  std::shared_ptr<T> find(Handle handle) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = alive_.find(handle);
    return found == alive_.end() ? nullptr : found->second;
  }
  std::shared_ptr<T> remove(Handle handle) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = alive_.find(handle);
    if (found == alive_.end()) return nullptr;
    std::shared_ptr<T> removed = std::move(found->second);
    alive_.erase(found);
    return removed;
  }
  size_t count() {
    std::lock_guard<std::mutex> lock(mutex_);
    return alive_.size();
  }
  template <class Visit>
  void each(Visit visit) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& entry : alive_) visit(entry.second);
  }

 private:
  std::mutex mutex_;
  std::map<Handle, std::shared_ptr<T>> alive_;
};

}  // namespace srp::emulation
