// Random numbers for the cases: the same on every machine, from a seed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace srp::test {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // splitmix64
  uint64_t next() {
    uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  // Both bounds inclusive.
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }

  double real(double low, double high) { return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53); }

  bool chance(double share) { return real(0, 1) < share; }

  template <class T, size_t N>
  T one_of(const T (&choices)[N]) {
    return choices[integer(0, N - 1)];
  }

  std::vector<double> reals(int64_t count, double low, double high) {
    std::vector<double> values(static_cast<size_t>(count));
    for (double& value : values) value = real(low, high);
    return values;
  }

  std::vector<int32_t> integers(int64_t count, int64_t low, int64_t high) {
    std::vector<int32_t> values(static_cast<size_t>(count));
    for (int32_t& value : values) value = static_cast<int32_t>(integer(low, high));
    return values;
  }

  // 1 with probability `share`, else 0.
  std::vector<uint8_t> flags(int64_t count, double share) {
    std::vector<uint8_t> values(static_cast<size_t>(count));
    for (uint8_t& value : values) value = chance(share) ? 1 : 0;
    return values;
  }

  std::vector<int32_t> permutation(int64_t count) {
    std::vector<int32_t> items(static_cast<size_t>(count));
    std::iota(items.begin(), items.end(), 0);
    for (int64_t i = count - 1; i > 0; --i) std::swap(items[i], items[integer(0, i)]);
    return items;
  }

 private:
  uint64_t state_;
};

}  // namespace srp::test
