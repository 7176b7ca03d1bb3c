// What memory can do on this machine, for the bench alone: loops that only read, copy or rewrite, as wide as the compiler
// was told to go, and a spin that touches no memory. Compiled on demand by bench/roof/roof.ts; no part of the package.
#include <node_api.h>

#include <stdint.h>
#include <string.h>
#include <functional>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr size_t kWidth = 64;
#elif defined(__AVX__)
constexpr size_t kWidth = 32;
#else
constexpr size_t kWidth = 16;
#endif

typedef uint64_t Lanes __attribute__((vector_size(kWidth), may_alias));
typedef uint64_t LooseLanes __attribute__((vector_size(kWidth), may_alias, aligned(8)));

constexpr size_t kUnroll = 8;
constexpr size_t kAhead =
    4096;  // bytes; further or nearer reads slower where the hardware does not look ahead across pages

inline void stream(Lanes* to, Lanes value) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<__m512i>(value));
#elif defined(__AVX__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(value));
#elif defined(__x86_64__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(value));
#else
  *to = value;
#endif
}

inline void fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

uint64_t fold(Lanes value) {
  uint64_t lanes[kWidth / 8];
  memcpy(lanes, &value, kWidth);
  uint64_t sum = 0;
  for (uint64_t lane : lanes) sum += lane;
  return sum;
}

uint64_t read(const char* from, size_t bytes) {
  Lanes sums[kUnroll] = {};
  size_t at = 0;
  for (; at + kUnroll * kWidth <= bytes; at += kUnroll * kWidth)
    for (size_t k = 0; k < kUnroll; ++k) {
      __builtin_prefetch(from + at + k * kWidth + kAhead);
      sums[k] ^= *reinterpret_cast<const LooseLanes*>(from + at + k * kWidth);
    }
  for (size_t k = 1; k < kUnroll; ++k) sums[0] ^= sums[k];
  uint64_t rest = 0;
  for (; at < bytes; ++at) rest += static_cast<unsigned char>(from[at]);
  return fold(sums[0]) + rest;
}

template <bool kStream>
void copy(char* to, const char* from, size_t bytes) {
  // Streamed stores must be aligned: the first bytes go by themselves.
  const size_t head = (kWidth - reinterpret_cast<uintptr_t>(to) % kWidth) % kWidth;
  size_t at = head < bytes ? head : bytes;
  memcpy(to, from, at);
  for (; at + kUnroll * kWidth <= bytes; at += kUnroll * kWidth)
    for (size_t k = 0; k < kUnroll; ++k) {
      const size_t place = at + k * kWidth;
      __builtin_prefetch(from + place + kAhead);
      const Lanes value = *reinterpret_cast<const LooseLanes*>(from + place);
      if (kStream)
        stream(reinterpret_cast<Lanes*>(to + place), value);
      else
        *reinterpret_cast<Lanes*>(to + place) = value;
    }
  memcpy(to + at, from + at, bytes - at);
  if (kStream) fence();
}

// Writes back what was there; `flip` is 0 and the compiler does not know it.
void rewrite(char* data, size_t bytes, uint64_t flip) {
  Lanes flips;
  memset(&flips, 0, sizeof flips);
  flips ^= flip;
  size_t at = 0;
  for (; at + kUnroll * kWidth <= bytes; at += kUnroll * kWidth)
    for (size_t k = 0; k < kUnroll; ++k) {
      LooseLanes* lanes = reinterpret_cast<LooseLanes*>(data + at + k * kWidth);
      __builtin_prefetch(data + at + k * kWidth + kAhead, 1);
      *lanes = *lanes ^ flips;
    }
  for (; at < bytes; ++at) data[at] = static_cast<char>(data[at] ^ static_cast<char>(flip));
}

uint64_t spin(uint64_t steps) {
  uint64_t x = steps | 1;
  for (uint64_t i = 0; i < steps; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  return x;
}

volatile uint64_t sink;
volatile uint64_t zero = 0;

// work(thread) on each of `threads`, the calling one among them.
void on_threads(uint32_t threads, const std::function<void(uint32_t)>& work) {
  std::vector<std::thread> others;
  for (uint32_t t = 1; t < threads; ++t) others.emplace_back(work, t);
  work(0);
  for (std::thread& other : others) other.join();
}

// Part t of n bytes, cut at cache lines.
struct Part {
  size_t begin, size;
};
Part part_of(size_t bytes, uint32_t t, uint32_t threads) {
  const size_t lines = bytes / 64;
  const size_t begin = lines * t / threads * 64;
  const size_t end = t + 1 == threads ? bytes : lines * (t + 1) / threads * 64;
  return {begin, end - begin};
}

struct Arguments {
  napi_value values[3];
  size_t count = 3;
};

Arguments arguments_of(napi_env env, napi_callback_info info) {
  Arguments a;
  napi_get_cb_info(env, info, &a.count, a.values, nullptr, nullptr);
  return a;
}

struct Bytes {
  char* data = nullptr;
  size_t size = 0;
};

Bytes bytes_of(napi_env env, napi_value value) {
  Bytes bytes;
  void* data = nullptr;
  if (napi_get_typedarray_info(env, value, nullptr, &bytes.size, &data, nullptr, nullptr) != napi_ok)
    napi_throw_type_error(env, nullptr, "expected a Uint8Array");
  bytes.data = static_cast<char*>(data);
  return bytes;
}

uint32_t threads_of(napi_env env, napi_value value) {
  uint32_t threads = 1;
  napi_get_value_uint32(env, value, &threads);
  return threads;
}

// read(bytes, threads)
napi_value read_call(napi_env env, napi_callback_info info) {
  const Arguments a = arguments_of(env, info);
  const Bytes from = bytes_of(env, a.values[0]);
  const uint32_t threads = threads_of(env, a.values[1]);
  on_threads(threads, [&](uint32_t t) {
    const Part part = part_of(from.size, t, threads);
    sink = read(from.data + part.begin, part.size);
  });
  return nullptr;
}

// copy(to, from, threads), copyStreamed(to, from, threads)
template <bool kStream>
napi_value copy_call(napi_env env, napi_callback_info info) {
  const Arguments a = arguments_of(env, info);
  const Bytes to = bytes_of(env, a.values[0]);
  const Bytes from = bytes_of(env, a.values[1]);
  const uint32_t threads = threads_of(env, a.values[2]);
  if (to.size != from.size) {
    napi_throw_range_error(env, nullptr, "copy: two sizes");
    return nullptr;
  }
  on_threads(threads, [&](uint32_t t) {
    const Part part = part_of(from.size, t, threads);
    copy<kStream>(to.data + part.begin, from.data + part.begin, part.size);
  });
  return nullptr;
}

// rewrite(bytes, threads)
napi_value rewrite_call(napi_env env, napi_callback_info info) {
  const Arguments a = arguments_of(env, info);
  const Bytes data = bytes_of(env, a.values[0]);
  const uint32_t threads = threads_of(env, a.values[1]);
  on_threads(threads, [&](uint32_t t) {
    const Part part = part_of(data.size, t, threads);
    rewrite(data.data + part.begin, part.size, zero);
  });
  return nullptr;
}

// spin(steps, threads)
napi_value spin_call(napi_env env, napi_callback_info info) {
  const Arguments a = arguments_of(env, info);
  int64_t steps = 0;
  napi_get_value_int64(env, a.values[0], &steps);
  on_threads(threads_of(env, a.values[1]), [&](uint32_t) { sink = spin(static_cast<uint64_t>(steps)); });
  return nullptr;
}

void add(napi_env env, napi_value exports, const char* name, napi_callback call) {
  napi_value function;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, call, nullptr, &function);
  napi_set_named_property(env, exports, name, function);
}

}  // namespace

NAPI_MODULE_INIT() {
  add(env, exports, "read", read_call);
  add(env, exports, "copy", copy_call<false>);
  add(env, exports, "copyStreamed", copy_call<true>);
  add(env, exports, "rewrite", rewrite_call);
  add(env, exports, "spin", spin_call);
  return exports;
}
