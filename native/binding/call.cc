// Reading, checking, staging and running a call. Which thread runs what stands beside the declarations in call.h.
#include "call.h"

#include <math.h>
#include <string.h>

namespace srp::binding {
namespace {

int32_t dtype_of(napi_typedarray_type type) {
  switch (type) {
    case napi_float32_array:
      return SRP_F32;
    case napi_float64_array:
      return SRP_F64;
    case napi_int32_array:
      return SRP_I32;
    case napi_uint8_array:
    case napi_uint8_clamped_array:
      return SRP_U8;
    case napi_uint16_array:
      return SRP_F16;  // bits of either half type
    case napi_bigint64_array:
      return SRP_I64;
    default:
      return 0;
  }
}

bool same_storage(int32_t given, int32_t wanted) { return given == wanted || (given == SRP_F16 && wanted == SRP_BF16); }

bool overlap(const Array& a, const Array& b) {
  return a.bytes > 0 && b.bytes > 0 && a.host < b.host + b.bytes && b.host < a.host + a.bytes;
}

}  // namespace

srp_status Call::refuse(srp_status status, const Field& field, const std::string& what) {
  error_ = op_.name + ": " + camel_case(field.name) + " " + what;
  return status;
}

srp_status Call::read_number(double number, const Field& field) {
  if (field.kind == Kind::kFloat64) {
    memcpy(args_ + field.offset, &number, sizeof number);
    return SRP_OK;
  }
  const double limit = field.kind == Kind::kInt32 ? 2147483647.0 : 9007199254740991.0;
  if (!(fabs(number) <= limit) || number != trunc(number))
    return refuse(SRP_BAD_ARGUMENT, field, "is " + std::to_string(number) + ", expected an integer");
  if (field.kind == Kind::kInt32) {
    const int32_t integer = static_cast<int32_t>(number);
    memcpy(args_ + field.offset, &integer, sizeof integer);
  } else {
    const int64_t integer = static_cast<int64_t>(number);
    memcpy(args_ + field.offset, &integer, sizeof integer);
  }
  return SRP_OK;
}

int32_t Call::wanted_dtype(const Field& field) const {
  if (field.dtype != kOwnDtype && field.dtype != kWideDtype) return field.dtype;
  int32_t own;
  memcpy(&own, args_ + sizeof(uint32_t), sizeof own);  // every struct: size, dtype, ...
  return field.dtype == kOwnDtype || own == SRP_F64 ? own : static_cast<int32_t>(SRP_F32);
}

srp_status Call::read_array(napi_env env, napi_value value, const Field& field) {
  napi_typedarray_type type;
  size_t length;
  void* data;
  if (napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr) != napi_ok) {
    napi_valuetype kind;
    const bool absent = napi_typeof(env, value, &kind) == napi_ok && (kind == napi_null || kind == napi_undefined);
    return absent ? SRP_OK : refuse(SRP_BAD_DTYPE, field, "is not a typed array");  // the op says whether it needs it
  }
  const int32_t wanted = wanted_dtype(field);
  if (!same_storage(dtype_of(type), wanted))
    return refuse(SRP_BAD_DTYPE, field, "has another element type than dtype says");
  const int64_t count = field.count(args_);
  const int64_t bytes = count < 0 ? -1 : times(count, srp_dtype_size(wanted));
  if (bytes < 0) return refuse(SRP_BAD_SHAPE, field, "cannot have the sizes given");
  if (static_cast<int64_t>(length) < count)
    return refuse(SRP_BAD_SHAPE, field,
                  "has " + std::to_string(length) + " elements, expected " + std::to_string(count));
  // A present but empty array still gets a non-NULL pointer, so that the op sees it as given.
  static unsigned char nothing[16];
  unsigned char* const host = data ? static_cast<unsigned char*>(data) : nothing;
  arrays_[array_count_++] = {&field, host, host, static_cast<size_t>(bytes)};
  return SRP_OK;
}

srp_status Call::check_overlap() {
  for (size_t i = 0; i < array_count_; ++i) {
    const Array& output = arrays_[i];
    if (output.field->kind != Kind::kOutput) continue;
    for (size_t j = 0; j < array_count_; ++j) {
      const Array& other = arrays_[j];
      if (i == j || !overlap(output, other)) continue;
      const char* const input = output.field->in_place_of;
      const bool in_place = input && strcmp(input, other.field->name) == 0 && output.host == other.host;
      if (!in_place)
        return refuse(SRP_BAD_ARGUMENT, *output.field, std::string("overlaps ") + camel_case(other.field->name));
    }
  }
  return SRP_OK;
}

srp_status Call::read(napi_env env, const double* numbers, const napi_value* arrays, size_t array_count) {
  const Field* const fields = op_.fields.data();
  const size_t wanted = op_.fields.size() - op_.numbers;
  if (array_count != wanted) {
    error_ = op_.name + ": " + std::to_string(array_count) + " arrays, expected " + std::to_string(wanted);
    return SRP_BAD_ARGUMENT;
  }
  memset(args_, 0, op_.args_size);
  const uint32_t size = static_cast<uint32_t>(op_.args_size);
  memcpy(args_, &size, sizeof size);
  // Numbers first: the arrays' lengths follow from them.
  for (size_t i = 0; i < op_.numbers; ++i) {
    const srp_status status = read_number(numbers[i], fields[i]);
    if (status != SRP_OK) return status;
  }
  for (size_t i = 0; i < array_count; ++i) {
    const srp_status status = read_array(env, arrays[i], fields[op_.numbers + i]);
    if (status != SRP_OK) return status;
  }
  return check_overlap();
}

void Call::point(const Array& array) { memcpy(args_ + array.field->offset, &array.device, sizeof array.device); }

srp_status Call::report(const srp_backend& backend, srp_status status) {
  if (status != SRP_OK) error_ = op_.name + ": " + backend.last_error();
  return status;
}

srp_status Call::stage_in(const srp_backend& backend, srp_queue* queue) {
  for (size_t i = 0; i < array_count_; ++i) arrays_[i].device = nullptr;
  for (size_t i = 0; i < array_count_; ++i) {
    Array& array = arrays_[i];
    // An in-place output shares the staged memory of its input, which stands before it in the table.
    for (size_t j = 0; j < i && array.field->in_place_of; ++j)
      if (arrays_[j].host == array.host && array.bytes > 0 &&
          strcmp(arrays_[j].field->name, array.field->in_place_of) == 0)
        array.device = arrays_[j].device;
    if (!array.device) {
      void* memory = nullptr;
      const srp_status status = backend.alloc(queue, array.bytes, &memory);
      if (status != SRP_OK) return status;
      array.device = static_cast<unsigned char*>(memory);
      // Outputs are copied in as well: an op may leave the part of a row beyond its capacity untouched.
      const srp_status copied = backend.copy(queue, memory, array.host, array.bytes, SRP_TO_DEVICE);
      if (copied != SRP_OK) return copied;
    }
    point(array);
  }
  return SRP_OK;
}

srp_status Call::stage_out(const srp_backend& backend, srp_queue* queue) {
  // Wait before anything is copied back: a fault found on the device must leave the outputs as they were.
  const srp_status ran = backend.sync(queue);
  if (ran != SRP_OK) return ran;
  for (size_t i = 0; i < array_count_; ++i) {
    if (arrays_[i].field->kind != Kind::kOutput) continue;
    const srp_status copied = backend.copy(queue, arrays_[i].host, arrays_[i].device, arrays_[i].bytes, SRP_TO_HOST);
    if (copied != SRP_OK) return copied;
  }
  return backend.sync(queue);
}

void Call::release(const srp_backend& backend, srp_queue* queue) {
  for (size_t i = 0; i < array_count_; ++i) {
    bool shared = false;
    for (size_t j = 0; j < i; ++j) shared = shared || arrays_[j].device == arrays_[i].device;
    if (arrays_[i].device && !shared) backend.free(queue, arrays_[i].device);
  }
}

srp_status Call::run(const srp_backend& backend, bool host_memory, srp_queue* queue) {
  if (op_.table_offset + sizeof(void*) > backend.size) {
    error_ = op_.name + ": the " + backend.name + " library is older than this op";
    return SRP_UNSUPPORTED;
  }
  if (host_memory) {
    for (size_t i = 0; i < array_count_; ++i) point(arrays_[i]);
    return report(backend, op_.run(backend, queue, args_));
  }
  srp_status status = stage_in(backend, queue);
  if (status == SRP_OK) status = op_.run(backend, queue, args_);
  if (status == SRP_OK) status = stage_out(backend, queue);
  report(backend, status);  // before release(), whose calls may set another text
  release(backend, queue);
  return status;
}

}  // namespace srp::binding
