// What the module exports to lib/backend/wasm. Its memory is exported as well; it imports nothing.
#include "call.h"
#include "shared/checks.h"

#define SRP_EXPORT(name) __attribute__((export_name(name), used)) extern "C"

namespace {

srp::wasm::Call call;

const srp::binding::Op* op_at(uint32_t op) {
  const auto& ops = srp::binding::all_ops();
  return op < ops.size() ? &ops[op] : nullptr;
}

}  // namespace

// Texts end with 0.
SRP_EXPORT("contracts") const char* wasm_contracts() { return srp::binding::contracts; }
SRP_EXPORT("lastError") const char* wasm_last_error() { return srp::failure_text; }

SRP_EXPORT("level") const char* wasm_level() {
  static srp_description description = {};
  description.size = sizeof description;
  srp_cpu_backend()->describe(0, &description);
  return description.device;
}

// NULL behind the last op.
SRP_EXPORT("opName") const char* wasm_op_name(uint32_t op) {
  const auto* const found = op_at(op);
  return found ? found->name : nullptr;
}

// Bit i is set where array i is an output.
SRP_EXPORT("outputs") uint32_t wasm_outputs(uint32_t op) {
  const auto* const found = op_at(op);
  uint32_t bits = 0;
  for (size_t i = found ? found->numbers : 0; found && i < found->field_count; ++i)
    if (found->fields[i].kind == srp::binding::Kind::kOutput) bits |= 1u << (i - found->numbers);
  return bits;
}

SRP_EXPORT("numbers") double* wasm_numbers() { return call.numbers; }
SRP_EXPORT("slots") srp::wasm::Slot* wasm_slots() { return call.slots; }

SRP_EXPORT("prepare") int32_t wasm_prepare(uint32_t op) {
  const auto* const found = op_at(op);
  return found ? call.prepare(*found) : srp::fail(SRP_BAD_ARGUMENT, "there is no op %u", op);
}

SRP_EXPORT("run") int32_t wasm_run() { return call.run(); }

SRP_EXPORT("prepareCheck") int32_t wasm_prepare_check(uint32_t op) {
  const auto* const found = op_at(op);
  return found ? call.prepare_check(*found) : srp::fail(SRP_BAD_ARGUMENT, "there is no op %u", op);
}

SRP_EXPORT("check") int32_t wasm_check() { return call.check(); }
