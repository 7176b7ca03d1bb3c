// One copy of the code for both halves of a register, where it is long.
namespace srp::cpu::SRP_LEVEL {

// visit(0), visit(1), one after the other. The compiler must not know which: it would write both out.
template <class Visit>
SRP_INLINE void each_half(const Visit& visit) {
  for (int64_t k = 0; k < 2; ++k) {
    __asm__("" : "+r"(k));
    visit(k);
  }
}

}  // namespace srp::cpu::SRP_LEVEL
