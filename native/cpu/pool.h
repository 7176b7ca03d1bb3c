// Runs the pieces of one call on several threads.
//
// pieces    ranges [begin, end) of consecutive rows. Any thread may run a piece, at any time: a piece writes nothing that
//           another one reads or writes. So results do not depend on the number of threads
// status    that of the first piece, in order, that returns anything but SRP_OK, with its text; it does not depend on threads
//           either. Later pieces may not have run. SRP_STOPPED when the caller's stop was set (surprisal/cpu.h)
// memory    nothing is allocated per call. What the caller wrote before is seen by every piece; what pieces wrote is seen
//           by the caller afterwards
// nesting   a call inside a piece, or while another thread's call uses the pool, runs on its calling thread alone
#ifndef SURPRISAL_CPU_POOL_H
#define SURPRISAL_CPU_POOL_H

#include <stdint.h>

#include <type_traits>

#include "surprisal/status.h"

namespace srp::cpu {

using RunPiece = srp_status (*)(void* context, int64_t begin, int64_t end);

// Threads that the caller may use. Nothing but the cut into pieces may depend on it.
int32_t threads_of_call();

// Runs [0, count) in pieces of `size` (the last one may be shorter), on as many threads as the caller may use.
srp_status run_pieces(int64_t count, int64_t size, void* context, RunPiece run);

// Rows in a piece, for rows that move this many bytes each, or cost as much time.
int64_t rows_in_piece(int64_t bytes_per_row);

// Runs [0, rows) in pieces of rows_in_piece; on the calling thread alone where they are few (sizes.h).
srp_status run_rows(int64_t rows, int64_t bytes_per_row, void* context, RunPiece run);

// The same with anything that several threads may call as run(begin, end), which returns a status or nothing.
template <class Run>
srp_status call_piece(void* context, int64_t begin, int64_t end) {
  const Run& run = *static_cast<const Run*>(context);
  if constexpr (std::is_void_v<std::invoke_result_t<const Run&, int64_t, int64_t>>) {
    run(begin, end);
    return SRP_OK;
  } else {
    return run(begin, end);
  }
}

template <class Run>
srp_status parallel_pieces(int64_t count, int64_t size, const Run& run) {
  return run_pieces(count, size, const_cast<Run*>(&run), call_piece<Run>);
}

template <class Run>
srp_status parallel_rows(int64_t rows, int64_t bytes_per_row, const Run& run) {
  return run_rows(rows, bytes_per_row, const_cast<Run*>(&run), call_piece<Run>);
}

// The same for rows with `positions` in all, which move this many bytes each or cost as much time. Rows may differ in length:
// their mean decides the size of a piece.
template <class Run>
srp_status parallel_rows_of(int64_t rows, int64_t positions, int64_t bytes_per_position, const Run& run) {
  return rows == 0 ? SRP_OK : parallel_rows(rows, bytes_per_position * (positions / rows + 1), run);
}

// Calls run(a, first, last) for ranges of rows.
template <class Args>
srp_status each_row(const Args& a, int64_t bytes_per_position, void (*run)(const Args&, int64_t, int64_t)) {
  return parallel_rows_of(a.B, a.n, bytes_per_position, [&](int64_t begin, int64_t end) { run(a, begin, end); });
}

}  // namespace srp::cpu

#endif
