// How an args struct of the ABI is filled from JavaScript: a table of fields. JavaScript passes numbers and arrays each in the
// order of the table. The tables are generated (contracts.cc), with the names that the fields have in JavaScript.
#ifndef SURPRISAL_BINDING_FIELD_H
#define SURPRISAL_BINDING_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include <type_traits>
#include <utility>
#include <vector>

#include "surprisal/backend.h"

namespace srp::binding {

enum class Kind : uint8_t { kInt32, kInt64, kFloat64, kInput, kOutput };

struct Field {
  const char* name;
  Kind kind;
  size_t offset;  // in the args struct
  int32_t dtype;  // of an array; kOwnDtype = the struct's dtype field, kWideDtype = float64 where that is, else float32
  int64_t (*count)(const void*);  // elements an array needs, from the numbers already filled; < 0 = contradictory sizes
  int32_t in_place_of;  // of an output that may be the very memory of an input: its place in the table; 0 = none
};

constexpr int32_t kOwnDtype = 0;
constexpr int32_t kWideDtype = -1;

template <class T>
constexpr Kind number_kind() {
  static_assert(std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t> || std::is_same_v<T, double>,
                "no such number");
  return std::is_same_v<T, int32_t> ? Kind::kInt32 : std::is_same_v<T, int64_t> ? Kind::kInt64 : Kind::kFloat64;
}

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
  size_t
      rows;  // offset of the int64 number of rows where these are independent of each other and every array is made of
  // as many equal parts; 0 = cannot be cut
  srp_status (*run)(const srp_backend&, srp_queue*, const void* args);
};

extern const char* const contracts;  // of which headers the tables were made: lib/ holds the same text
const std::vector<Op>& all_ops();

}  // namespace srp::binding

// In a scope where `Args` names the struct. `a` is the struct inside a count expression.
#define SRP_NUMBER(member, name)                                                                                       \
  ::srp::binding::Field{                                                                                               \
      name, ::srp::binding::number_kind<decltype(std::declval<Args&>().member)>(), offsetof(Args, member), 0, nullptr, \
      0}
#define SRP_ARRAY_(member, name, kind, dtype, expression, place)         \
  ::srp::binding::Field {                                                \
    name, kind, offsetof(Args, member), dtype,                           \
        [](const void* p) -> int64_t {                                   \
          [[maybe_unused]] const Args& a = *static_cast<const Args*>(p); \
          return expression;                                             \
        },                                                               \
        place                                                            \
  }
#define SRP_INPUT(member, name, dtype, expression) \
  SRP_ARRAY_(member, name, ::srp::binding::Kind::kInput, dtype, expression, 0)
#define SRP_OUTPUT(member, name, dtype, expression) \
  SRP_ARRAY_(member, name, ::srp::binding::Kind::kOutput, dtype, expression, 0)
#define SRP_IN_PLACE(member, name, dtype, expression, place) \
  SRP_ARRAY_(member, name, ::srp::binding::Kind::kOutput, dtype, expression, place)
// The function `op` of the table, whose struct and fields are in a namespace of its name.
#define SRP_OP(op, name, numbers, rows)                                                        \
  ::srp::binding::Op {                                                                         \
    name, sizeof(op::Args), op::fields, sizeof op::fields / sizeof *op::fields, numbers, rows, \
        [](const srp_backend& backend, srp_queue* queue, const void* args) {                   \
          return backend.op(queue, static_cast<const op::Args*>(args));                        \
        }                                                                                      \
  }

#endif
