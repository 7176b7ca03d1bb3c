// Outputs that are computed from the end of a stretch towards its begin, and may be written past the cache in whole lines.
//
// An array can begin anywhere (a typed array of JavaScript begins 16 bytes behind a page), so the results of one step cover parts
// of lines, and writing a line in parts takes far longer. Hence two rooms in the cache that are laid out like the lines of the
// array: results fill one room while lines leave the other, about one line for each register of results. If all lines left at
// once, they would fill the store queue, and no load could run ahead.
namespace srp::cpu::SRP_LEVEL {

// Whole lines of a room, [first, end), which are being copied to the array, `apart` bytes away.
template <class F>
struct Leaving {
  const F *first, *end;
  intptr_t apart;
};

template <class F>
struct Drain {
  static constexpr int64_t kLine = kLanes > 64 / int64_t{sizeof(F)} ? kLanes : 64 / int64_t{sizeof(F)};  // one or two
  static constexpr int64_t kRoom = 32 * kLine;

  alignas(64) F rooms[2][kRoom];
  F* out;  // or NULL: not asked for
  F* first;  // out[base] goes there, to a room or to `out` itself
  int64_t base;  // in a room out[base] begins a line
  int64_t top;  // what has left the room that is filled begins there
  Leaving<F> leaving;  // the other one
};

template <class F>
SRP_INLINE int64_t line_begin(const F* out, int64_t i) {
  return i - static_cast<int64_t>(reinterpret_cast<uintptr_t>(out + i) / sizeof(F) % Drain<F>::kLine);
}
template <class F>
SRP_INLINE int64_t line_end(const F* out, int64_t i) {
  return line_begin(out, i + Drain<F>::kLine - 1);
}

// For the elements of `out` below `end`.
template <class F>
SRP_INLINE void open_drain(Drain<F>* drain, F* out, int64_t end, bool past_cache) {
  const bool has_lines = out && reinterpret_cast<uintptr_t>(out) % sizeof(F) == 0;
  drain->out = drain->first = out;
  drain->base = 0;
  drain->leaving = {};
  drain->top = end;
  if (!past_cache || !has_lines) return;
  drain->first = drain->rooms[0];
  drain->base = line_end(out, end) - Drain<F>::kRoom;
}

// Where element i goes, which is not below `base`.
template <class F>
SRP_INLINE F* place_of(const Drain<F>* drain, int64_t i) {
  return drain->out ? drain->first + (i - drain->base) : nullptr;
}

// As many elements as a register makes.
template <class F>
SRP_INLINE void leave_some(Leaving<F>* leaving) {
  constexpr int64_t kStep = 4 * kLanes / int64_t{sizeof(F)};
  if (leaving->end == leaving->first) return;
  for (int64_t step = 0; step < kLanes; step += kStep) {
    leaving->end -= kStep;
    stream(reinterpret_cast<F*>(reinterpret_cast<intptr_t>(leaving->end) + leaving->apart),
           (F32)load_bits(leaving->end));
  }
}
template <class F>
SRP_INLINE void leave_all(Leaving<F>* leaving) {
  while (leaving->end != leaving->first) leave_some(leaving);
}

// Brings nearer what results will be written over, so many elements ahead, where they go through the cache.
template <class F>
SRP_INLINE void prefetch_place(const Leaving<F>& leaving, const F* place, int64_t ahead) {
  if (place && !leaving.first) prefetch(place - ahead);
}

template <class F>
SRP_INLINE void copy_part(const Drain<F>* drain, int64_t begin, int64_t end) {
  memcpy(drain->out + begin, place_of(drain, begin), sizeof(F) * static_cast<size_t>(end - begin));
}

// Writes out the rest of the other room; elements [begin, top) of this one follow, up to the last whole line.
template <class F>
SRP_INLINE void leave_from(Drain<F>* drain, int64_t begin) {
  leave_all(&drain->leaving);
  const int64_t last = line_begin(drain->out, drain->top);
  if (last < begin) return;
  copy_part(drain, last, drain->top);
  drain->leaving = {
      place_of(drain, begin), place_of(drain, last),
      reinterpret_cast<intptr_t>(drain->out + begin) - reinterpret_cast<intptr_t>(place_of(drain, begin))};
  drain->top = begin;
}

// Makes room for a register below element `low`. All elements from `low` on have been put.
template <class F>
SRP_INLINE void make_room(Drain<F>* drain, int64_t low) {
  if (low - drain->base >= kLanes || drain->first == drain->out) return;
  const int64_t begin = line_end(drain->out, low), base = begin - Drain<F>::kRoom;
  F* const next = drain->rooms[drain->first == drain->rooms[0] ? 1 : 0];
  leave_from(drain, begin);
  memcpy(next + (low - base), place_of(drain, low), sizeof(F) * static_cast<size_t>(begin - low));
  drain->first = next;
  drain->base = base;
}

// Writes out everything from element `begin` on.
template <class F>
SRP_INLINE void close_drain(Drain<F>* drain, int64_t begin) {
  if (drain->first == drain->out) return;
  const int64_t line = line_end(drain->out, begin);
  leave_from(drain, line);
  leave_all(&drain->leaving);
  copy_part(drain, begin, drain->top);
}

}  // namespace srp::cpu::SRP_LEVEL
