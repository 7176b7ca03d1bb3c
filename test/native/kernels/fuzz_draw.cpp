#include "fuzz_draw.h"

#include <climits>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "random.h"

namespace srp::test {
namespace {

using binding::Field;
using binding::Kind;

constexpr int64_t kMostBytes = 1 << 15;  // of an array
constexpr int32_t kDtypes[] = {SRP_F32, SRP_F32, SRP_F64, SRP_F64, SRP_F16, SRP_BF16, SRP_I32, SRP_U8, SRP_I64, 0, 99};
constexpr int64_t kOddSizes[] = {-1, INT64_MIN, int64_t{1} << 31, int64_t{1} << 32, int64_t{1} << 62, INT64_MAX, 300};
constexpr double kNumbers[] = {0, 1, 0.5, 2, -1, 0.1, 1e-4, 100, -0.0, NAN, INFINITY, -INFINITY, 1e300, -1e300, 5e-324};
constexpr double kReals[] = {0, -0.0, 1, -1, NAN, INFINITY, -INFINITY, 1e-45, 3e38, -3e38, 1e-300, 88.8, -103.9, 1e300};

template <class T>
void put(std::vector<unsigned char>& args, size_t offset, T value) {
  memcpy(args.data() + offset, &value, sizeof value);
}

int64_t size_at(const std::vector<unsigned char>& args, size_t offset) {
  int64_t value;
  memcpy(&value, args.data() + offset, sizeof value);
  return value;
}

int32_t dtype_of(const Field& field, const std::vector<unsigned char>& args) {
  if (field.dtype != binding::kOwnDtype && field.dtype != binding::kWideDtype) return field.dtype;
  int32_t own;
  memcpy(&own, args.data() + sizeof(uint32_t), sizeof own);
  return field.dtype == binding::kOwnDtype || own == SRP_F64 ? own : static_cast<int32_t>(SRP_F32);
}

int64_t* find_size(std::vector<std::pair<const char*, int64_t>>& sizes, const char* name) {
  for (auto& [known, value] : sizes)
    if (!strcmp(known, name)) return &value;
  return nullptr;
}

// Sizes that mostly fit together: n is B * T, a stride is no less than its row. Seldom one that is senseless.
void draw_sizes(Choices& choices, const binding::Op& op, std::vector<unsigned char>& args) {
  std::vector<std::pair<const char*, int64_t>> sizes;
  for (size_t i = 0; i < op.numbers; ++i) {
    const Field& field = op.fields[i];
    if (field.kind != Kind::kInt64) continue;
    const uint8_t sort = choices.byte();
    int64_t value = choices.byte() % (sort < 200 ? 9 : 70);
    if (sort > 250) value = choices.one_of(kOddSizes);
    sizes.push_back({field.name, value});
  }
  int64_t* const n = find_size(sizes, "n");
  const int64_t *const B = find_size(sizes, "B"), *const T = find_size(sizes, "T");
  if (n && B && T && choices.chance(200)) *n = binding::times(*B, *T);
  int64_t* const stride = find_size(sizes, "stride");
  const int64_t* const V = find_size(sizes, "V");
  if (stride && V && choices.chance(230)) *stride = binding::plus(*V, *stride % 3);
  int64_t* const whole = find_size(sizes, "vocabSize");
  if (whole && V && choices.chance(200)) *whole = *V;
  int64_t* const start = find_size(sizes, "vocabStart");
  if (start && choices.chance(200)) *start = 0;
  size_t next = 0;
  for (size_t i = 0; i < op.numbers; ++i)
    if (op.fields[i].kind == Kind::kInt64) put(args, op.fields[i].offset, sizes[next++].second);
}

void draw_numbers(Choices& choices, const binding::Op& op, std::vector<unsigned char>& args) {
  draw_sizes(choices, op, args);
  for (size_t i = 0; i < op.numbers; ++i) {
    const Field& field = op.fields[i];
    const uint8_t sort = choices.byte();
    if (field.kind == Kind::kFloat64) {
      put(args, field.offset, sort < 160 ? kNumbers[sort % 4] : choices.one_of(kNumbers));
    } else if (field.kind == Kind::kInt32) {
      int32_t value = sort < 240 ? sort % 4 : sort < 250 ? sort % 16 : sort == 250 ? -1 : INT32_MAX;
      if (!strcmp(field.name, "dtype")) value = kDtypes[sort % std::size(kDtypes)];
      if (!strcmp(field.name, "form")) value = choices.byte() % 40;
      put(args, field.offset, value);
    }
  }
}

void fill_reals(Random& random, int sort, int32_t dtype, unsigned char* data, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const double value = sort == 0 ? 0 : sort == 1 || !random.chance(0.2) ? random.real(-8, 8) : random.one_of(kReals);
    if (dtype == SRP_F64) {
      memcpy(data + 8 * i, &value, 8);
    } else if (dtype == SRP_F32) {
      const float narrow = static_cast<float>(value);
      memcpy(data + 4 * i, &narrow, 4);
    } else {
      const uint16_t bits = static_cast<uint16_t>(random.next());
      memcpy(data + 2 * i, &bits, 2);
    }
  }
}

template <class T>
void fill_integers(Random& random, int sort, int64_t most, unsigned char* data, int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (T& value : values) value = static_cast<T>(random.integer(0, most > 0 ? most - 1 : 0));
  if (sort >= 250 && count > 0) {
    const int64_t odd[] = {-1, most, most + 1, INT32_MAX, INT32_MIN, 1 << 30};
    values[static_cast<size_t>(random.integer(0, count - 1))] = static_cast<T>(random.one_of(odd));
  }
  if (count > 0) memcpy(data, values.data(), sizeof(T) * values.size());
}

// From 0 to `end`, going up; now and then not.
void fill_offsets(Random& random, int sort, int64_t end, unsigned char* data, int64_t count) {
  std::vector<int32_t> values(static_cast<size_t>(count));
  for (int64_t i = 1; i < count; ++i) {
    const int64_t left = end - values[i - 1];
    const int64_t step = random.integer(0, left > 0 ? (2 * left) / (count - i) + 1 : 0);
    values[i] =
        i == count - 1 ? static_cast<int32_t>(end) : static_cast<int32_t>(values[i - 1] + (step < left ? step : left));
  }
  if (sort >= 240 && count > 0) {
    const int32_t odd[] = {-1, static_cast<int32_t>(end) + 1, INT32_MAX, INT32_MIN, 0};
    values[static_cast<size_t>(random.integer(0, count - 1))] = random.one_of(odd);
  }
  if (count > 0) memcpy(data, values.data(), 4 * values.size());
}

bool ends_with(const char* name, const char* ending) {
  const size_t length = strlen(name), end = strlen(ending);
  return length >= end && !strcmp(name + length - end, ending);
}

// One of the sizes of the call: what an index may point into. Mostly the first, which is n or N.
int64_t some_size(Choices& choices, const DrawnCall& call) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < call.op->numbers; ++i)
    if (call.op->fields[i].kind == Kind::kInt64) sizes.push_back(size_at(call.args, call.op->fields[i].offset));
  if (sizes.empty()) return 4;
  const int64_t size = choices.chance(170) ? sizes.front() : sizes[choices.below(sizes.size())];
  return size >= 0 && size <= kMostBytes ? size : 4;
}

void fill(Choices& choices, const DrawnCall& call, DrawnArray& array, int64_t count) {
  const Field& field = *array.field;
  const int32_t dtype = dtype_of(field, call.args);
  const int sort = choices.byte();
  Random random(choices.word());
  unsigned char* const data = array.data;
  if (field.kind == Kind::kOutput) {
    memset(data, 0xa5, array.memory->bytes);
  } else if (dtype == SRP_I32 && ends_with(field.name, "ffsets")) {
    fill_offsets(random, sort, some_size(choices, call), data, count);
  } else if (dtype == SRP_I32 && !strcmp(field.name, "members") && sort < 200) {
    const std::vector<int32_t> items = random.permutation(count);
    if (count > 0) memcpy(data, items.data(), 4 * items.size());
  } else if (dtype == SRP_I32) {
    fill_integers<int32_t>(random, sort, some_size(choices, call), data, count);
  } else if (dtype == SRP_I64) {
    fill_integers<int64_t>(random, sort, some_size(choices, call), data, count);
  } else if (dtype == SRP_U8) {
    for (int64_t i = 0; i < count; ++i)
      data[i] = sort < 30 ? static_cast<unsigned char>(random.next()) : sort < 60 ? 0 : random.chance(0.7);
  } else {
    fill_reals(random, sort % 4, dtype, data, count);
  }
}

// An array of the length that its field needs, or none; or for an output the memory of the input that it may be.
bool draw_array(Choices& choices, DrawnCall& call, const Field& field) {
  const uint8_t sort = choices.byte();
  if (sort < (field.kind == Kind::kOutput ? 60 : 90)) return true;  // absent
  const int64_t count = field.count(call.args.data());
  const int64_t size = srp_dtype_size(dtype_of(field, call.args));
  // Sizes that contradict each other or name no type: no array satisfies them, and the op must say so without looking.
  const int64_t bytes = count < 0 ? 0 : binding::times(count, size);
  if (bytes < 0 || bytes > kMostBytes) {
    call.possible = call.possible && bytes < 0;
    return call.possible;
  }
  DrawnArray array = {&field, nullptr, nullptr, {}};
  if (field.in_place_of && sort >= 200)
    for (const DrawnArray& other : call.arrays)
      if (other.field == call.op->fields + field.in_place_of) array.data = other.data;
  if (!array.data) {
    array.memory = std::make_unique<Memory>(static_cast<size_t>(bytes), static_cast<size_t>(sort % 4 * size));
    array.data = array.memory->data;
    fill(choices, call, array, size > 0 ? bytes / size : 0);
    array.before.assign(array.data, array.data + bytes);
  }
  put(call.args, field.offset, array.data);
  call.arrays.push_back(std::move(array));
  return true;
}

}  // namespace

uint8_t Choices::byte() {
  if (at_ == bytes.size()) bytes.push_back(next_ ? static_cast<uint8_t>(next_()) : 0);
  return bytes[at_++];
}

uint32_t Choices::word() {
  uint32_t word = 0;
  for (int i = 0; i < 2; ++i) word = word << 8 | byte();
  return word;
}

Memory::Memory(size_t bytes, size_t shift)
    : whole(static_cast<unsigned char*>(malloc(shift + bytes)), free), data(whole.get() + shift), bytes(bytes) {}

DrawnCall draw_call(Choices& choices, const binding::Op* only) {
  const std::vector<binding::Op>& ops = binding::all_ops();
  DrawnCall call = {&ops[choices.below(ops.size())], {}, {}};
  if (only) call.op = only;
  call.args.assign(call.op->args_size, 0);
  put(call.args, 0, static_cast<uint32_t>(call.op->args_size));
  draw_numbers(choices, *call.op, call.args);
  for (size_t i = call.op->numbers; i < call.op->field_count; ++i)
    if (!draw_array(choices, call, call.op->fields[i])) break;
  return call;
}

}  // namespace srp::test
