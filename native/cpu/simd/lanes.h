// kHalf doubles as the number type of the loss forms (shared/loss_forms.inc), which are compiled here for the level.
namespace srp::cpu::SRP_LEVEL {

struct Lanes {
  F64 x;
  Lanes() = default;
  __attribute__((always_inline)) Lanes(F64 lanes) : x(lanes) {}
  __attribute__((always_inline)) explicit Lanes(double all) : x(splat(all)) {}
};
SRP_INLINE Lanes operator+(Lanes a, Lanes b) { return a.x + b.x; }
SRP_INLINE Lanes operator-(Lanes a, Lanes b) { return a.x - b.x; }
SRP_INLINE Lanes operator*(Lanes a, Lanes b) { return a.x * b.x; }
SRP_INLINE Lanes operator/(Lanes a, Lanes b) { return a.x / b.x; }
SRP_INLINE Lanes operator-(Lanes a) { return -a.x; }
SRP_INLINE Mask operator<(Lanes a, Lanes b) { return less(a.x, b.x); }
SRP_INLINE Mask operator<=(Lanes a, Lanes b) { return at_most(a.x, b.x); }
SRP_INLINE Mask operator>(Lanes a, Lanes b) { return more(a.x, b.x); }
SRP_INLINE Mask operator>=(Lanes a, Lanes b) { return at_least(a.x, b.x); }
SRP_INLINE Mask operator==(Lanes a, Lanes b) { return equal(a.x, b.x); }
SRP_INLINE Mask operator!=(Lanes a, Lanes b) { return unequal(a.x, b.x); }
SRP_INLINE Lanes select(Mask mask, Lanes a, Lanes b) { return pick(mask, a.x, b.x); }
SRP_INLINE Mask select(Mask mask, Mask a, Mask b) { return either(both(mask, a), both(!mask, b)); }
SRP_INLINE Lanes exponential(Lanes a) { return exp_wide(a.x); }
SRP_INLINE Lanes exponential_less_one(Lanes a) { return exponentials<double>(a.x).less_one; }
SRP_INLINE Lanes magnitude(Lanes a) { return absolute(a.x); }

// Everything is inlined into the calling loop: a call would pass registers through memory.
#pragma push_macro("SRP_HD")
#undef SRP_HD
#define SRP_HD inline __attribute__((always_inline))
#include "shared/loss_forms.inc"
#pragma pop_macro("SRP_HD")

}  // namespace srp::cpu::SRP_LEVEL
