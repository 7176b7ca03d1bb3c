// A random call of any op, straight at the table of functions: drawn from bytes, so that a case is a short text that can be kept,
// changed a little and tried again. What arrays an op takes and how long they must be say the binding's tables
// (native/binding/contracts.cc); nothing here knows an op.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "binding/field.h"

namespace srp::test {

// Choices of a case. Beyond the end of the bytes come new ones of `next`, or zeros where there is none.
class Choices {
 public:
  using Next = uint64_t (*)();
  explicit Choices(std::vector<uint8_t> bytes, Next next) : bytes(std::move(bytes)), next_(next) {}

  uint8_t byte();
  uint32_t word();
  // 0 … count - 1, count at most 256
  size_t below(size_t count) { return byte() % count; }
  bool chance(int of_256) { return byte() < of_256; }
  template <class T, size_t N>
  const T& one_of(const T (&choices)[N]) {
    return choices[below(N)];
  }

  std::vector<uint8_t> bytes;

 private:
  const Next next_;
  size_t at_ = 0;
};

// Memory of exactly so many bytes, `shift` behind where an allocation begins, so that arrays lie at odd places too.
struct Memory {
  Memory(size_t bytes, size_t shift);
  std::unique_ptr<unsigned char, void (*)(void*)> whole;
  unsigned char* data;
  size_t bytes;
};

struct DrawnArray {
  const binding::Field* field;
  std::unique_ptr<Memory> memory;  // NULL: an output that is the memory of an input
  unsigned char* data;
  std::vector<unsigned char> before;
};

struct DrawnCall {
  const binding::Op* op;
  std::vector<unsigned char> args;  // the struct of the op, with the pointers
  std::vector<DrawnArray> arrays;
  // False: the sizes are sound, and ask for more memory than a case has. No caller could have such arrays.
  bool possible = true;

  bool is_input(const DrawnArray& array) const { return array.field->kind == binding::Kind::kInput; }
};

// Of the op that the bytes choose, or of `only`.
DrawnCall draw_call(Choices& choices, const binding::Op* only = nullptr);

}  // namespace srp::test
