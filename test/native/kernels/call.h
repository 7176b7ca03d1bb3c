// A call of one op: its args struct, and the arrays behind the struct's pointers. The runner lays the arrays into memory
// of a backend and hands their addresses back, so that one description serves every backend.
#pragma once
#include <functional>
#include <vector>

#include "data.h"
#include "shapes.h"
#include "surprisal/backend.h"

namespace srp::test {

struct Array {
  const char* name;
  Data data;
  bool output;
  Tolerance tolerance;
};

class AnyCall {
 public:
  virtual ~AnyCall() = default;
  // memory[i] is where arrays[i] lies.
  virtual srp_status invoke(const srp_backend& table, srp_queue* queue, const std::vector<void*>& memory) const = 0;

  size_t index_of(const char* name) const {
    size_t i = 0;
    while (std::string(arrays.at(i).name) != name) ++i;
    return i;
  }

  std::vector<Array> arrays;
};

template <class Args>
class Call : public AnyCall {
 public:
  using Op = srp_status (*srp_backend::*)(srp_queue*, const Args*);

  explicit Call(Op op) : op_(op) { args.size = sizeof(Args); }

  Args args = {};  // sizes and scalars; pointers are set from the arrays

  template <class Pointer>
  void in(const char* name, Pointer Args::* field, const Data& data) {
    add({name, data, false, {}}, field);
  }

  template <class Pointer>
  void out(const char* name, Pointer Args::* field, int32_t dtype, int64_t count, Tolerance tolerance) {
    add({name, untouched(dtype, count), true, tolerance}, field);
  }

  // An output that is the memory of the input `name`.
  template <class Pointer>
  void in_place(const char* name, Pointer Args::* field, Tolerance tolerance) {
    const size_t i = index_of(name);
    arrays[i].output = true;
    arrays[i].tolerance = tolerance;
    bind(i, field);
  }

  // Rows of tokens; T of packed rows is a number that must not be read.
  void rows(const Rows& shape) {
    args.n = shape.n;
    args.B = shape.B;
    args.T = shape.T;
    if (shape.packed) in("offsets", &Args::offsets, ints(shape.offsets));
  }

  // Another call, with changed args: pointers may become NULL.
  template <class Change>
  Call with(Change change) const {
    Call changed = *this;
    changed.change_ = change;
    return changed;
  }

  // Another call, with element i of the array `name` changed.
  Call with_element(const char* name, int64_t i, double value) const {
    Call changed = *this;
    changed.arrays[changed.index_of(name)].data.set(i, value);
    return changed;
  }

  Call without_args() const {
    Call changed = *this;
    changed.null_ = true;
    return changed;
  }

  srp_status invoke(const srp_backend& table, srp_queue* queue, const std::vector<void*>& memory) const override {
    Args bound = args;
    for (const auto& pointer : pointers_) pointer.set(bound, memory[pointer.array]);
    if (change_) change_(bound);
    return (table.*op_)(queue, null_ ? nullptr : &bound);
  }

 private:
  struct BoundPointer {
    size_t array;
    std::function<void(Args&, void*)> set;
  };

  template <class Pointer>
  void add(Array array, Pointer Args::* field) {
    arrays.push_back(std::move(array));
    bind(arrays.size() - 1, field);
  }

  template <class Pointer>
  void bind(size_t array, Pointer Args::* field) {
    pointers_.push_back({array, [field](Args& a, void* memory) { a.*field = static_cast<Pointer>(memory); }});
  }

  Op op_;
  bool null_ = false;
  std::vector<BoundPointer> pointers_;
  std::function<void(Args&)> change_;
};

}  // namespace srp::test
