// How an args struct of the ABI is filled from JavaScript: a table of fields. JavaScript passes numbers and arrays each in
// the order of the table; a field's name in JavaScript is the C name in camelCase.
#ifndef SURPRISAL_BINDING_FIELD_H
#define SURPRISAL_BINDING_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <type_traits>
#include <vector>

#include "surprisal/backend.h"

namespace srp::binding {

enum class Kind : uint8_t { kInt32, kInt64, kFloat64, kInput, kOutput };
inline bool is_array(Kind kind) { return kind == Kind::kInput || kind == Kind::kOutput; }

struct Field {
  const char* name;  // the C name
  Kind kind;
  size_t offset;  // in the args struct
  int32_t dtype;  // of an array; kOwnDtype = the struct's dtype field, kWideDtype = float64 where that is, else float32
  int64_t (*count)(const void*);  // elements an array needs, from the scalars already filled; < 0 = contradictory sizes
  const char* in_place_of;  // an output that may be the very memory of this input; NULL = none
};

constexpr int32_t kOwnDtype = 0;
constexpr int32_t kWideDtype = -1;

template <class T>
constexpr Kind scalar_kind() {
  static_assert(std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t> || std::is_same_v<T, double>,
                "no such scalar");
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
  std::string name;  // in JavaScript
  size_t args_size;
  size_t table_offset;  // of the function in srp_backend: a shorter, older table lacks the op
  std::vector<Field> fields;
  srp_status (*run)(const srp_backend&, srp_queue*, const void* args);
  size_t numbers = 0;  // in all_ops() that many fields are numbers, and stand before the arrays
  size_t rows =
      0;  // offset of the int64 number of rows where these are independent of each other and every array is made of
  // as many equal parts; 0 = cannot be cut
};

std::string camel_case(const char* snake);

// The op, whose calls can be cut into fewer rows.
inline Op by_rows(Op op, size_t rows) {
  op.rows = rows;
  return op;
}

// Each family file returns its ops.
std::vector<Op> logprob_ops();
std::vector<Op> delim_ops();
std::vector<Op> group_ops();
std::vector<Op> scan_ops();
std::vector<Op> ratio_ops();
std::vector<Op> reduce_ops();
std::vector<Op> modulate_ops();
std::vector<Op> select_ops();
std::vector<Op> loss_ops();
std::vector<Op> correction_ops();
std::vector<Op> linear_ops();
std::vector<Op> divergence_ops();

const std::vector<Op>& all_ops();

}  // namespace srp::binding

// In a scope where `Args` names the struct. `a` is the struct inside a count expression.
#define SRP_SCALAR(member)                                                                                      \
  ::srp::binding::Field {                                                                                       \
    #member, ::srp::binding::scalar_kind<decltype(Args::member)>(), offsetof(Args, member), 0, nullptr, nullptr \
  }
#define SRP_ARRAY_(member, kind, dtype, expression, alias)               \
  ::srp::binding::Field {                                                \
    #member, kind, offsetof(Args, member), dtype,                        \
        [](const void* p) -> int64_t {                                   \
          [[maybe_unused]] const Args& a = *static_cast<const Args*>(p); \
          return expression;                                             \
        },                                                               \
        alias                                                            \
  }
#define SRP_INPUT(member, dtype, expression) \
  SRP_ARRAY_(member, ::srp::binding::Kind::kInput, dtype, expression, nullptr)
#define SRP_OUTPUT(member, dtype, expression) \
  SRP_ARRAY_(member, ::srp::binding::Kind::kOutput, dtype, expression, nullptr)
#define SRP_IN_PLACE(member, dtype, expression, input) \
  SRP_ARRAY_(member, ::srp::binding::Kind::kOutput, dtype, expression, #input)
// The ABI function `op` of the table, e.g. SRP_OP(scan_gae, fields).
#define SRP_OP(op, ...)                                                                    \
  ::srp::binding::Op {                                                                     \
    ::srp::binding::camel_case(#op), sizeof(Args), offsetof(srp_backend, op), __VA_ARGS__, \
        [](const srp_backend& backend, srp_queue* queue, const void* args) {               \
          return backend.op(queue, static_cast<const Args*>(args));                        \
        }                                                                                  \
  }

#endif
