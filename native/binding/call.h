// One call of one op: arguments read from JavaScript into the ABI's struct, and run. Where the backend has memory of its own,
// arrays in host memory are staged. Of two kinds of calls:
//
//   all arrays in host memory   are copied there and back, and the call waits. If memory runs out, a call of an op whose rows
//                               are independent is cut into fewer rows, as often as needed
//   an array on the device      all outputs must be there; inputs in host memory are copied, and the call returns before it has run
#ifndef SURPRISAL_BINDING_CALL_H
#define SURPRISAL_BINDING_CALL_H

#include <node_api.h>
#include <stdlib.h>
#include <string.h>

#include <memory>
#include <string>
#include <vector>

#include "field.h"
#include "handle.h"
#include "session.h"

namespace srp::binding {

constexpr size_t kMaxArgsBytes = 512;

struct Array {
  const Field* field;
  const Handle* handle;  // of an array on the device, else NULL
  unsigned char* given;  // where it is: in host memory, or on the device
  unsigned char* device;  // where the backend sees it; equal to `given` but for what is staged
  size_t bytes;  // the elements the op touches, not the whole array
  napi_value buffer;  // that it lies in, in host memory; of use only until the call from JavaScript returns
  size_t value;  // its place among the arrays that JavaScript gave
};

// A copy of an array's content, which the op reads or writes in place of the array.
struct PrivateCopy {
  std::unique_ptr<unsigned char, decltype(&free)> memory;
  unsigned char* original;  // compared, never dereferenced: it may be gone by the time the call ends
  size_t bytes;
  size_t value;  // as Array has it
  bool output;
};

class Call {
 public:
  explicit Call(const Op& op) : op_(op) {}

  // JavaScript thread: fills the struct from the op's numbers and arrays, each in the order of the table, checks every array's
  // type, length and overlap, and copies what must not change or go away until run() ends, which may be `off_thread`.
  srp_status read(napi_env env, const double* numbers, const napi_value* arrays, size_t array_count, bool off_thread);

  // JavaScript thread, after a successful run: copies outputs back into the arrays that read() was given, if these still have
  // their memory.
  void copy_back(napi_env env, const napi_value* arrays);

  // Whether there is anything to copy back, or was copied.
  bool copied() const { return !copies_.empty(); }

  // Whether there is an array on the device among those read.
  bool on_device() const { return on_device_; }

  // Any thread, arrays in host memory alone: runs on the session's backend with this queue, staging unless the backend works
  // in host memory.
  srp_status run(const srp_backend& backend, bool host_memory, srp_queue* queue);

  // JavaScript thread, with an array on the device.
  srp_status enqueue(const std::shared_ptr<Queue>& queue);

  // Refuses the whole call: sets the text for error().
  srp_status refuse(srp_status status, const std::string& what);

  const std::string& error() const { return error_; }

 private:
  srp_status refuse(srp_status status, const Field& field, const std::string& what);
  template <class T>
  void put(size_t offset, const T& value) {
    memcpy(args_ + offset, &value, sizeof value);
  }
  srp_status read_number(double number, const Field& field);
  int32_t wanted_dtype(const Field& field) const;
  srp_status read_array(napi_env env, napi_value value, const Field& field);
  bool stands_for(const Array& output, const Array& input) const;
  srp_status check_overlap();
  srp_status read_handle(const Handle& handle, const Field& field);
  srp_status add(Array array, bool has_dtype, size_t elements);
  srp_status copy_unsteady(napi_env env, bool off_thread);
  srp_status copy_array(Array& array);
  bool hold_array(napi_env env, const Array& array);
  srp_status check_places(const Queue& queue);
  srp_status stage_in(const srp_backend& backend, srp_queue* queue);
  srp_status stage_out(const srp_backend& backend, srp_queue* queue);
  srp_status run_staged(const srp_backend& backend, srp_queue* queue);
  srp_status run_by_rows(const srp_backend& backend, srp_queue* queue);
  void release(const srp_backend& backend, srp_queue* queue);
  srp_status report(const srp_backend& backend, srp_status status);

  const Op& op_;
  alignas(16) unsigned char args_[kMaxArgsBytes];  // 0 as far as the op's struct goes, once read
  Array arrays_[kMaxFields];
  size_t array_count_ = 0;
  size_t value_ = 0;  // that is being read
  std::vector<PrivateCopy> copies_;
  std::vector<std::shared_ptr<void>> shares_;  // in the memory of arrays, until the call is over
  bool on_device_ = false;
  std::string error_;
};

// Exported for every op, with its numbers in the environment's array: call(session, null, ...arrays) → status,
// callAsync(session, stop, ...arrays) → Promise of a status. `stop` is an Int32Array of one number that ends the call once
// it is not 0 (surprisal/cpu.h), or null.
napi_value call_sync(napi_env env, napi_callback_info info);
napi_value call_async(napi_env env, napi_callback_info info);

}  // namespace srp::binding

#endif
