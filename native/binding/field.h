// How an args struct of the ABI is filled from JavaScript: a table of fields. JavaScript passes numbers and arrays each in the
// order of the table. The tables are generated (contracts.cc), with the names that the fields have in JavaScript.
#ifndef SURPRISAL_BINDING_FIELD_H
#define SURPRISAL_BINDING_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "surprisal/backend.h"

namespace srp::binding {

enum class Kind : uint8_t { kInt32, kInt64, kFloat64, kInput, kOutput };

constexpr int32_t kOwnDtype = 0;  // the struct's dtype
constexpr int32_t kWideDtype = -1;  // float64 where the struct's dtype is, else float32

struct Field {
  const char* name;
  Kind kind;
  size_t offset;  // in the args struct
  // Of arrays:
  int32_t dtype = kOwnDtype;
  int64_t (*count)(const void* args) = nullptr;  // elements it needs, by the numbers; < 0 = these contradict each other
  int32_t in_place_of = 0;  // the place in the table of the input whose very memory an output may be; 0 = none
};

// Products of sizes that come from JavaScript: a negative factor or an overflow gives -1, which no array satisfies.
inline int64_t times(int64_t a, int64_t b) {
  int64_t product;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}
inline int64_t plus(int64_t a, int64_t b) {
  int64_t sum;
  return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}

struct Op {
  const char* name;  // in JavaScript
  size_t args_size;
  const Field* fields;
  size_t field_count;
  size_t numbers;  // that many fields are numbers, and stand before the arrays
  // Offset of the int64 number of rows where these are independent of each other and every array has as many equal parts;
  // 0 = a call cannot be cut.
  size_t rows;
  srp_status (*run)(const srp_backend&, srp_queue*, const void* args);
};

extern const char* const contracts;  // the hash of the headers that the tables were made of: lib/ holds the same
const std::vector<Op>& all_ops();

}  // namespace srp::binding

#endif
