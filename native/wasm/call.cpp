#include "call.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/checks.h"

namespace srp::wasm {

using binding::Field;
using binding::Kind;

namespace {

constexpr uint64_t kAlign = 64;
constexpr uint64_t kMostBytes = (uint64_t{1} << 32) - (uint64_t{1} << 24);  // of 4 GiB, what is left for all else

int32_t wanted_dtype(const Field& field, const void* args) {
  if (field.dtype != binding::kOwnDtype && field.dtype != binding::kWideDtype) return field.dtype;
  int32_t own;
  memcpy(&own, static_cast<const unsigned char*>(args) + sizeof(uint32_t), sizeof own);  // every struct: size, dtype
  return field.dtype == binding::kOwnDtype || own == SRP_F64 ? own : static_cast<int32_t>(SRP_F32);
}

bool same_storage(int32_t given, int32_t wanted) { return given == wanted || (given == SRP_F16 && wanted == SRP_BF16); }

bool holds_numbers(int32_t dtype) { return dtype != SRP_I32 && dtype != SRP_I64 && dtype != SRP_U8; }

}  // namespace

template <class T>
void Call::put(size_t offset, const T& value) {
  memcpy(args_ + offset, &value, sizeof value);
}

srp_status Call::read_number(double number, const Field& field) {
  if (field.kind == Kind::kFloat64) {
    put(field.offset, number);
    return SRP_OK;
  }
  const double limit = field.kind == Kind::kInt32 ? 2147483647.0 : 9007199254740991.0;
  if (!(fabs(number) <= limit) || number != trunc(number))
    return fail(SRP_BAD_ARGUMENT, "%s: %s is %g, expected an integer", op_->name, field.name, number);
  if (field.kind == Kind::kInt32)
    put(field.offset, static_cast<int32_t>(number));
  else
    put(field.offset, static_cast<int64_t>(number));
  return SRP_OK;
}

srp_status Call::read_slot(size_t array, bool sizes_alone) {
  const Field& field = op_->fields[op_->numbers + array];
  Slot& slot = slots[array];
  slot.place = 0;
  slot.bytes = 0;
  touched_[array] = 0;
  if (slot.dtype == 0) return SRP_OK;  // the op says whether it needs it
  const int32_t dtype = wanted_dtype(field, args_);
  if (!same_storage(slot.dtype, dtype))
    return fail(SRP_BAD_DTYPE, "%s: %s has another element type than dtype says", op_->name, field.name);
  const int64_t count = field.count(args_);
  const int64_t bytes = binding::times(count, srp_dtype_size(dtype));
  if (bytes < 0) return fail(SRP_BAD_SHAPE, "%s: %s cannot have the sizes given", op_->name, field.name);
  if (!(slot.elements >= static_cast<double>(count)))
    return fail(SRP_BAD_SHAPE, "%s: %s has %.0f elements, expected %lld", op_->name, field.name, slot.elements,
                static_cast<long long>(count));
  touched_[array] = static_cast<double>(bytes);
  if (sizes_alone && holds_numbers(dtype)) return SRP_OK;
  if (static_cast<uint64_t>(bytes) > kMostBytes)
    return fail(SRP_OUT_OF_MEMORY, "%s: %s has %lld bytes, and WebAssembly has room for %llu", op_->name, field.name,
                static_cast<long long>(bytes), static_cast<unsigned long long>(kMostBytes));
  slot.bytes = static_cast<uint32_t>(bytes);
  return SRP_OK;
}

bool Call::overlap(size_t a, size_t b) const {
  const Slot &x = slots[a], &y = slots[b];
  return x.buffer == y.buffer && touched_[a] > 0 && touched_[b] > 0 && x.begin < y.begin + touched_[b] &&
         y.begin < x.begin + touched_[a];
}

// Whether the output is the input that it may be the memory of.
bool Call::stands_for(size_t output, size_t input) const {
  const Slot &a = slots[output], &b = slots[input];
  const int32_t place = op_->fields[op_->numbers + output].in_place_of;
  return place && static_cast<size_t>(place) == op_->numbers + input && a.buffer == b.buffer && a.begin == b.begin;
}

srp_status Call::check_overlap(size_t output) {
  const Field* const fields = op_->fields + op_->numbers;
  for (size_t i = 0; i < op_->field_count - op_->numbers; ++i)
    if (i != output && overlap(output, i) && !stands_for(output, i))
      return fail(SRP_BAD_ARGUMENT, "%s: %s overlaps %s", op_->name, fields[output].name, fields[i].name);
  return SRP_OK;
}

// Every array its own, but for outputs that are their inputs.
srp_status Call::give_places() {
  const size_t arrays = op_->field_count - op_->numbers;
  uint64_t bytes = kAlign;
  for (size_t i = 0; i < arrays; ++i) bytes += (slots[i].bytes + 2 * kAlign - 1) / kAlign * kAlign;
  if (bytes > kMostBytes)
    return fail(SRP_OUT_OF_MEMORY, "%s: the arrays have %llu bytes, and WebAssembly has room for %llu", op_->name,
                static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(kMostBytes));
  if (bytes > memory_bytes_) {
    free(memory_);
    memory_ = static_cast<unsigned char*>(malloc(static_cast<size_t>(bytes)));
    memory_bytes_ = memory_ ? bytes : 0;
    if (!memory_)
      return fail(SRP_OUT_OF_MEMORY, "%s: no memory for %llu bytes", op_->name, static_cast<unsigned long long>(bytes));
  }
  uint64_t next = reinterpret_cast<uintptr_t>(memory_) + kAlign - reinterpret_cast<uintptr_t>(memory_) % kAlign;
  for (size_t i = 0; i < arrays; ++i) {
    Slot& slot = slots[i];
    if (slot.dtype == 0) continue;
    for (size_t j = 0; j < i; ++j)
      if (slot.bytes > 0 && stands_for(i, j)) slot.place = slots[j].place;
    if (slot.place == 0) {
      slot.place = static_cast<uint32_t>(next);
      next += (slot.bytes + 2 * kAlign - 1) / kAlign * kAlign;  // an empty array has a place too
    }
    put(op_->fields[op_->numbers + i].offset, slot.place);
  }
  return SRP_OK;
}

srp_status Call::prepare(const binding::Op& op, bool sizes_alone) {
  static_assert(sizeof(void*) == sizeof(uint32_t), "a place is a pointer");
  const Field* const fields = op.fields;
  const size_t arrays = op.field_count - op.numbers;
  if (op.numbers > kMaxNumbers || arrays > kMaxArrays || op.args_size > kMaxArgsBytes)
    return fail(SRP_UNSUPPORTED, "%s: has more arguments than this module has room for", op.name);
  op_ = &op;
  memset(args_, 0, op.args_size);
  put(0, static_cast<uint32_t>(op.args_size));
  srp_status status = SRP_OK;
  // Numbers first: the arrays' lengths follow from them.
  for (size_t i = 0; status == SRP_OK && i < op.numbers; ++i) status = read_number(numbers[i], fields[i]);
  for (size_t i = 0; status == SRP_OK && i < arrays; ++i) status = read_slot(i, sizes_alone);
  for (size_t i = 0; status == SRP_OK && i < arrays; ++i)
    if (fields[op.numbers + i].kind == Kind::kOutput) status = check_overlap(i);
  if (status == SRP_OK) status = give_places();
  if (status != SRP_OK) op_ = nullptr;
  return status;
}

srp_status Call::run() {
  if (!op_) return fail(SRP_BAD_ARGUMENT, "run: nothing was prepared");
  const binding::Op& op = *op_;
  op_ = nullptr;
  const srp_status status = op.run(*srp_cpu_backend(), nullptr, args_);
  if (status == SRP_OK || status == SRP_STOPPED) return status;
  char text[sizeof failure_text];
  memcpy(text, failure_text, sizeof text);
  return fail(status, "%s: %s", op.name, text);
}

srp_status Call::check() {
  only_checks = true;
  const srp_status status = run();
  only_checks = false;
  return status == SRP_STOPPED ? SRP_OK : status;
}

}  // namespace srp::wasm
