// Reading, checking, staging and running a call. Which thread runs what stands beside the declarations in call.h.
#include "call.h"

#include <math.h>

#include "async_work.h"
#include "typed_array.h"

namespace srp::binding {
namespace {

bool overlap(const Array& a, const Array& b) {
  return a.bytes > 0 && b.bytes > 0 && a.given < b.given + b.bytes && b.given < a.given + a.bytes;
}

}  // namespace

srp_status Call::refuse(srp_status status, const Field& field, const std::string& what) {
  return refuse(status, std::string(field.name) + " " + what);
}

srp_status Call::read_number(double number, const Field& field) {
  if (field.kind == Kind::kFloat64) {
    put(field.offset, number);
    return SRP_OK;
  }
  const double limit = field.kind == Kind::kInt32 ? 2147483647.0 : 9007199254740991.0;
  const int64_t integer = fabs(number) <= limit ? static_cast<int64_t>(number) : 0;
  if (static_cast<double>(integer) != number)  // nor is NaN, or what is beyond the limit
    return refuse(SRP_BAD_ARGUMENT, field, "is " + std::to_string(number) + ", expected an integer");
  if (field.kind == Kind::kInt32)
    put(field.offset, static_cast<int32_t>(integer));
  else
    put(field.offset, integer);
  return SRP_OK;
}

int32_t Call::wanted_dtype(const Field& field) const {
  if (field.dtype != kOwnDtype && field.dtype != kWideDtype) return field.dtype;
  int32_t own;
  memcpy(&own, args_ + sizeof(uint32_t), sizeof own);  // every struct: size, dtype, ...
  return field.dtype == kOwnDtype || own == SRP_F64 ? own : static_cast<int32_t>(SRP_F32);
}

// Reads an array, in host memory or on a device, and checks that it is what its field needs.
srp_status Call::add(Array array, bool has_dtype, size_t elements) {
  const Field& field = *array.field;
  if (!has_dtype) return refuse(SRP_BAD_DTYPE, field, "has another element type than dtype says");
  const int64_t count = field.count(args_);
  const int64_t bytes = times(count, srp_dtype_size(wanted_dtype(field)));
  if (bytes < 0) return refuse(SRP_BAD_SHAPE, field, "cannot have the sizes given");
  if (static_cast<int64_t>(elements) < count)
    return refuse(SRP_BAD_SHAPE, field,
                  "has " + std::to_string(elements) + " elements, expected " + std::to_string(count));
  array.bytes = static_cast<size_t>(bytes);
  arrays_[array_count_++] = array;
  return SRP_OK;
}

srp_status Call::read_handle(const Handle& handle, const Field& field) {
  on_device_ = true;
  if (!handle.owner) return refuse(SRP_BAD_ARGUMENT, field, "was released");
  return add({&field, &handle, handle.pointer, handle.pointer, 0, nullptr, value_}, handle.dtype == wanted_dtype(field),
             handle.bytes / static_cast<size_t>(srp_dtype_size(handle.dtype)));
}

srp_status Call::read_array(napi_env env, napi_value value, const Field& field) {
  TypedArray given;
  if (!read_typed_array(env, value, &given)) {
    napi_valuetype kind;
    const bool absent = napi_typeof(env, value, &kind) == napi_ok && (kind == napi_null || kind == napi_undefined);
    if (absent) return SRP_OK;  // the op refuses it if it needs it
    const Handle* const handle = unwrap<Handle>(env, value);
    return handle ? read_handle(*handle, field) : refuse(SRP_BAD_DTYPE, field, "is not a typed array");
  }
  unsigned char* const data = static_cast<unsigned char*>(given.data);
  return add({&field, nullptr, data, data, 0, given.buffer, value_}, same_storage(given.dtype, wanted_dtype(field)),
             given.length);
}

// Whether the output is the very input that it may share memory with.
bool Call::stands_for(const Array& output, const Array& input) const {
  const int32_t place = output.field->in_place_of;
  return place && input.field == op_.fields + place && output.given == input.given;
}

srp_status Call::check_overlap() {
  for (size_t i = 0; i < array_count_; ++i) {
    const Array& output = arrays_[i];
    if (output.field->kind != Kind::kOutput) continue;
    for (size_t j = 0; j < array_count_; ++j) {
      const Array& other = arrays_[j];
      // Outputs that stand before it have been compared with it.
      if ((other.field->kind == Kind::kOutput && j <= i) || !overlap(output, other)) continue;
      if (!stands_for(output, other))
        return refuse(SRP_BAD_ARGUMENT, *output.field, std::string("overlaps ") + other.field->name);
    }
  }
  return SRP_OK;
}

srp_status Call::read(napi_env env, const double* numbers, const napi_value* arrays, size_t array_count,
                      bool off_thread) {
  const Field* const fields = op_.fields;
  const size_t wanted = op_.field_count - op_.numbers;
  if (array_count != wanted)
    return refuse(SRP_BAD_ARGUMENT, std::to_string(array_count) + " arrays, expected " + std::to_string(wanted));
  memset(args_, 0, op_.args_size);
  put(0, static_cast<uint32_t>(op_.args_size));
  // Numbers first: the arrays' lengths follow from them.
  for (size_t i = 0; i < op_.numbers; ++i) {
    const srp_status status = read_number(numbers[i], fields[i]);
    if (status != SRP_OK) return status;
  }
  const double given = numbers[op_.numbers];
  if (!(given >= 0 && given < 4294967296.0))
    return refuse(SRP_BAD_ARGUMENT, "the number behind those of the op is " + std::to_string(given) +
                                        ", expected a bit for each array that there is");
  const uint64_t present = static_cast<uint64_t>(given);
  for (value_ = 0; value_ < array_count; ++value_) {
    if (!(present >> value_ & 1)) continue;  // the op refuses to be without one that it needs
    const srp_status status = read_array(env, arrays[value_], fields[op_.numbers + value_]);
    if (status != SRP_OK) return status;
  }
  const srp_status status = check_overlap();
  return status == SRP_OK ? copy_unsteady(env, off_thread) : status;
}

srp_status Call::copy_array(Array& array) {
  // An in-place output follows its input, which comes before it in the table.
  for (PrivateCopy& copy : copies_) {
    if (copy.original != array.given || !array.field->in_place_of) continue;
    array.given = array.device = copy.memory.get();
    copy.value = array.value;
    copy.output = true;
    return SRP_OK;
  }
  unsigned char* const memory = static_cast<unsigned char*>(malloc(array.bytes));
  if (!memory)
    return refuse(SRP_OUT_OF_MEMORY, *array.field,
                  "must be copied for this call, and there is no memory for " + std::to_string(array.bytes) + " bytes");
  memcpy(memory, array.given, array.bytes);
  copies_.push_back({{memory, free}, array.given, array.bytes, array.value, array.field->kind == Kind::kOutput});
  array.given = array.device = memory;
  return SRP_OK;
}

bool Call::hold_array(napi_env env, const Array& array) {
  std::shared_ptr<void> share = hold(env, array.buffer);
  if (!share) return false;
  shares_.push_back(std::move(share));
  return true;
}

// Copies what must not change or go away under the call: integers and masks in shared memory, which another thread may write
// after they were checked; off the event loop also what cannot be held.
srp_status Call::copy_unsteady(napi_env env, bool off_thread) {
  for (size_t i = 0; i < array_count_; ++i) {
    Array& array = arrays_[i];
    if (array.handle || array.bytes == 0) continue;
    // Floats that change during a call make its results wrong. Indices and masks that change could make it leave its arrays.
    const int32_t dtype = wanted_dtype(*array.field);
    const bool indexes = dtype == SRP_I32 || dtype == SRP_I64 || dtype == SRP_U8;
    if (!off_thread && !indexes) continue;
    bool own = false;  // memory that only this thread's JavaScript uses, and can transfer away
    napi_is_arraybuffer(env, array.buffer, &own);
    const bool unsteady = own ? off_thread && !hold_array(env, array) : indexes;
    const srp_status status = unsteady ? copy_array(array) : SRP_OK;
    if (status != SRP_OK) return status;
  }
  return SRP_OK;
}

void Call::copy_back(napi_env env, const napi_value* arrays) {
  for (const PrivateCopy& copy : copies_) {
    TypedArray array;
    if (copy.output && read_typed_array(env, arrays[copy.value], &array) && copy.bytes <= array.bytes())
      memcpy(array.data, copy.memory.get(), copy.bytes);
  }
}

srp_status Call::report(const srp_backend& backend, srp_status status) {
  if (status != SRP_OK) error_ = std::string(op_.name) + ": " + backend.last_error();
  return status;
}

srp_status Call::refuse(srp_status status, const std::string& what) {
  error_ = std::string(op_.name) + ": " + what;
  return status;
}

// Allocates device memory for arrays in host memory, and copies them. All allocations come first, so that nothing was copied if
// memory runs out.
srp_status Call::stage_in(const srp_backend& backend, srp_queue* queue) {
  for (size_t i = 0; i < array_count_; ++i)
    if (!arrays_[i].handle) arrays_[i].device = nullptr;
  for (size_t i = 0; i < array_count_; ++i) {
    Array& array = arrays_[i];
    if (array.handle) continue;
    // An in-place output shares the staged memory of its input, which stands before it in the table.
    for (size_t j = 0; j < i && array.bytes > 0; ++j)
      if (stands_for(array, arrays_[j])) array.device = arrays_[j].device;
    if (array.device) continue;
    void* memory = nullptr;
    const srp_status status = backend.alloc(queue, array.bytes, &memory);
    if (status != SRP_OK) return status;
    array.device = static_cast<unsigned char*>(memory);
  }
  for (size_t i = 0; i < array_count_; ++i) {
    const Array& array = arrays_[i];
    // Outputs are copied in as well: an op may leave the part of a row beyond its capacity untouched.
    const srp_status copied =
        array.handle ? SRP_OK : backend.copy(queue, array.device, array.given, array.bytes, SRP_TO_DEVICE);
    if (copied != SRP_OK) return copied;
    put(array.field->offset, array.device);
  }
  return SRP_OK;
}

srp_status Call::stage_out(const srp_backend& backend, srp_queue* queue) {
  // Wait before anything is copied back: a fault found on the device must leave the outputs as they were.
  const srp_status ran = backend.sync(queue);
  if (ran != SRP_OK) return ran;
  for (size_t i = 0; i < array_count_; ++i) {
    if (arrays_[i].field->kind != Kind::kOutput) continue;
    const srp_status copied = backend.copy(queue, arrays_[i].given, arrays_[i].device, arrays_[i].bytes, SRP_TO_HOST);
    if (copied != SRP_OK) return copied;
  }
  return SRP_OK;
}

// Frees what was staged, in the order of the queue, so after the op has run.
void Call::release(const srp_backend& backend, srp_queue* queue) {
  for (size_t i = 0; i < array_count_; ++i) {
    bool shared = false;
    for (size_t j = 0; j < i; ++j) shared = shared || arrays_[j].device == arrays_[i].device;
    if (arrays_[i].device && !arrays_[i].handle && !shared) backend.free(queue, arrays_[i].device);
  }
}

srp_status Call::run_staged(const srp_backend& backend, srp_queue* queue) {
  srp_status status = stage_in(backend, queue);
  if (status == SRP_OK) status = op_.run(backend, queue, args_);
  if (status == SRP_OK && !on_device_) status = stage_out(backend, queue);
  report(backend, status);  // before release(), whose calls may set another text
  release(backend, queue);
  return status;
}

// Half as many rows at a time until they fit. Every array is made of as many equal parts as there are rows.
srp_status Call::run_by_rows(const srp_backend& backend, srp_queue* queue) {
  int64_t rows;
  memcpy(&rows, args_ + op_.rows, sizeof rows);
  if (rows < 2) return SRP_OUT_OF_MEMORY;
  unsigned char* given[kMaxFields];
  size_t row_bytes[kMaxFields];
  for (size_t i = 0; i < array_count_; ++i) {
    given[i] = arrays_[i].given;
    row_bytes[i] = arrays_[i].bytes / static_cast<size_t>(rows);
  }
  srp_status status = SRP_OUT_OF_MEMORY;
  int64_t begin = 0, count = (rows + 1) / 2;
  while (begin < rows) {
    const int64_t part = count < rows - begin ? count : rows - begin;
    put(op_.rows, part);
    for (size_t i = 0; i < array_count_; ++i) {
      arrays_[i].given = given[i] + static_cast<size_t>(begin) * row_bytes[i];
      arrays_[i].bytes = static_cast<size_t>(part) * row_bytes[i];
    }
    status = run_staged(backend, queue);
    if (status == SRP_OUT_OF_MEMORY && part > 1) {
      count = (part + 1) / 2;
      continue;
    }
    if (status != SRP_OK) break;
    begin += part;
  }
  return status;
}

srp_status Call::run(const srp_backend& backend, bool host_memory, srp_queue* queue) {
  if (host_memory) {
    for (size_t i = 0; i < array_count_; ++i) put(arrays_[i].field->offset, arrays_[i].device);
    return report(backend, op_.run(backend, queue, args_));
  }
  const srp_status status = run_staged(backend, queue);
  return status == SRP_OUT_OF_MEMORY && op_.rows ? run_by_rows(backend, queue) : status;
}

// Outputs on the queue's device, as is everything that is on one.
srp_status Call::check_places(const Queue& queue) {
  for (size_t i = 0; i < array_count_; ++i) {
    const Array& array = arrays_[i];
    if (array.handle && !queue.same_device(array.handle->owner->queue()))
      return refuse(SRP_BAD_ARGUMENT, *array.field, "lies on another device");
    if (!array.handle && array.field->kind == Kind::kOutput)
      return refuse(SRP_BAD_ARGUMENT, *array.field,
                    "is in host memory; with an array on the device every output must be there");
  }
  return SRP_OK;
}

srp_status Call::enqueue(const std::shared_ptr<Queue>& queue) {
  srp_status status = check_places(*queue);
  for (size_t i = 0; status == SRP_OK && i < array_count_; ++i) {
    std::string why;
    if (arrays_[i].handle) status = Owner::use(arrays_[i].handle->owner, queue, &why);
    if (status != SRP_OK) refuse(status, *arrays_[i].field, why);
  }
  return status == SRP_OK ? run_staged(queue->backend(), queue->get()) : status;
}

}  // namespace srp::binding
