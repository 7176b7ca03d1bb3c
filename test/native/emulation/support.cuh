// What the programs of this folder share: device buffers, and a line a check.
#pragma once
#include <cstdio>
#include <vector>

#include "../../../native/cuda/cuda.cuh"

#if defined(SRP_EMULATED)
#include "../../../native/emulation/settings.h"
constexpr int kOrders = 3;
inline void set_order(int order) { srp_emulation_set_order(order, 20 + static_cast<unsigned>(order)); }
inline void set_delays(unsigned seed) { srp_emulation_set_streams(2, seed); }
#else
constexpr int kOrders = 1;  // the device has its own
inline void set_order(int) {}
inline void set_delays(unsigned) {}
#endif

template <class T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t count) : count_(count) { cudaMalloc(&data_, count * sizeof(T)); }
  explicit DeviceBuffer(const std::vector<T>& host) : DeviceBuffer(host.size()) {
    cudaMemcpy(data_, host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice);
  }
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  T* get() const { return data_; }
  std::vector<T> read() const {
    std::vector<T> host(count_);
    cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost);
    return host;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

struct Checks {
  int failed = 0;
  void that(bool truth, const char* sentence) {
    if (!truth) ++failed;
    printf("%s: %s\n", truth ? "passed" : "FAILED", sentence);
  }
  // After a launch: nothing may be left to complain about.
  bool launched() {
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) printf("launch: %s\n", cudaGetErrorString(error));
    return error == cudaSuccess;
  }
};
