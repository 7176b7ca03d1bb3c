#include "data.h"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "shared/number.h"

namespace srp::test {
namespace {

constexpr unsigned char kUntouched = 0xa5;

template <class T>
T get(const Data& data, int64_t i) {
  T value;
  memcpy(&value, data.bytes.data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void put_at(Data& data, int64_t i, T value) {
  memcpy(data.bytes.data() + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

bool close(double a, double b, const Tolerance& tolerance) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  if (std::isinf(a) || std::isinf(b)) return false;
  return std::fabs(a - b) <= tolerance.rtol * std::fmax(std::fabs(a), std::fabs(b)) + tolerance.atol;
}

}  // namespace

double Data::at(int64_t i) const {
  switch (dtype) {
    case SRP_F32:
      return get<float>(*this, i);
    case SRP_F16:
      return to_float(get<Half>(*this, i));
    case SRP_BF16:
      return to_float(get<BFloat16>(*this, i));
    case SRP_F64:
      return get<double>(*this, i);
    case SRP_I32:
      return get<int32_t>(*this, i);
    case SRP_I64:
      return static_cast<double>(get<int64_t>(*this, i));
    default:
      return get<uint8_t>(*this, i);
  }
}

void Data::set(int64_t i, double value) {
  switch (dtype) {
    case SRP_F32:
      return put_at(*this, i, static_cast<float>(value));
    case SRP_F16:
      return put_at(*this, i, to_half(static_cast<float>(value)));
    case SRP_BF16:
      return put_at(*this, i, to_bfloat16(static_cast<float>(value)));
    case SRP_F64:
      return put_at(*this, i, value);
    case SRP_I32:
      return put_at(*this, i, static_cast<int32_t>(value));
    case SRP_I64:
      return put_at(*this, i, static_cast<int64_t>(value));
    default:
      return put_at(*this, i, static_cast<uint8_t>(value));
  }
}

Data untouched(int32_t dtype, int64_t count) {
  return {dtype, std::vector<unsigned char>(static_cast<size_t>(count * srp_dtype_size(dtype)), kUntouched)};
}

Data reals(int32_t dtype, const std::vector<double>& values) {
  Data data = untouched(dtype, static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) data.set(static_cast<int64_t>(i), values[i]);
  return data;
}

Data ints(const std::vector<int32_t>& values) {
  Data data = untouched(SRP_I32, static_cast<int64_t>(values.size()));
  if (!values.empty()) memcpy(data.bytes.data(), values.data(), data.bytes.size());
  return data;
}

Data wide_ints(const std::vector<int32_t>& values) {
  Data data = untouched(SRP_I64, static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) data.set(static_cast<int64_t>(i), values[i]);
  return data;
}

Data flags(const std::vector<uint8_t>& values) { return {SRP_U8, values}; }

std::string difference(const Data& want, const Data& got, const Tolerance& tolerance) {
  for (int64_t i = 0; i < want.count(); ++i) {
    if (close(want.at(i), got.at(i), tolerance)) continue;
    char text[128];
    snprintf(text, sizeof text, "[%lld] is %.17g, expected %.17g", static_cast<long long>(i), got.at(i), want.at(i));
    return text;
  }
  return "";
}

}  // namespace srp::test
