// CUDA's short vectors, aligned as on the device: a load from an unaligned address is wrong there, and UBSan sees it here.
#pragma once

#define SRP_VECTOR_2(T, name)          \
  struct alignas(2 * sizeof(T)) name { \
    T x, y;                            \
  };                                   \
  inline name make_##name(T x, T y) { return {x, y}; }
#define SRP_VECTOR_4(T, name)                                    \
  struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) name { \
    T x, y, z, w;                                                \
  };                                                             \
  inline name make_##name(T x, T y, T z, T w) { return {x, y, z, w}; }

SRP_VECTOR_2(float, float2)
SRP_VECTOR_2(double, double2)
SRP_VECTOR_2(int, int2)
SRP_VECTOR_2(unsigned, uint2)
SRP_VECTOR_2(unsigned short, ushort2)
SRP_VECTOR_4(float, float4)
SRP_VECTOR_4(int, int4)
SRP_VECTOR_4(unsigned, uint4)
SRP_VECTOR_4(unsigned short, ushort4)
SRP_VECTOR_4(unsigned char, uchar4)
#undef SRP_VECTOR_2
#undef SRP_VECTOR_4
