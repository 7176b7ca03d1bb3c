// One call of one op in the module's memory.
//
// JavaScript writes the numbers of the op and a Slot for each array, and calls prepare(). That checks types, lengths and
// overlaps, and gives every array a place. JavaScript copies the arrays there, calls run(), and copies the outputs back.
// Nothing that JavaScript writes is followed: places are given out here, and the op checks what it reads from them.
#ifndef SURPRISAL_WASM_CALL_H
#define SURPRISAL_WASM_CALL_H

#include "binding/field.h"

namespace srp::wasm {

// Set while an op is to check its arguments and to end where its rows would begin.
extern bool only_checks;

constexpr size_t kMaxNumbers = 64, kMaxArrays = 32, kMaxArgsBytes = 512;

// As lib/backend/wasm/slots.ts reads and writes it: 32 bytes.
struct Slot {
  // By JavaScript:
  double begin;  // where the array begins in its buffer, in bytes
  double elements;
  int32_t buffer;  // arrays of one buffer have one number
  int32_t dtype;  // of its elements, either half type as SRP_F16; 0 = no array
  // By prepare():
  uint32_t place;  // in the module's memory
  uint32_t bytes;  // that the op touches
};

class Call {
 public:
  double numbers[kMaxNumbers];  // in the order of the op's table, as are the arrays
  Slot slots[kMaxArrays];

  srp_status prepare(const binding::Op& op) { return prepare(op, false); }
  // What prepare() made ready, once.
  srp_status run();

  // A call that is made a part of its rows at a time is checked as a whole first, so that its outputs stay as they are where
  // it is refused. Takes the arrays that hold indexes and masks, and of the others the sizes. Then check() in place of run().
  srp_status prepare_check(const binding::Op& op) { return prepare(op, true); }
  srp_status check();

 private:
  template <class T>
  void put(size_t offset, const T& value);
  srp_status read_number(double number, const binding::Field& field);
  srp_status prepare(const binding::Op& op, bool sizes_alone);
  srp_status read_slot(size_t array, bool sizes_alone);
  srp_status check_overlap(size_t output);
  srp_status give_places();
  bool stands_for(size_t output, size_t input) const;
  bool overlap(size_t a, size_t b) const;

  const binding::Op* op_ = nullptr;
  double touched_[kMaxArrays];  // bytes of each array that the op reads or writes
  alignas(16) unsigned char args_[kMaxArgsBytes];
  unsigned char* memory_ = nullptr;  // kept from call to call
  uint64_t memory_bytes_ = 0;
};

}  // namespace srp::wasm

#endif
