// The pieces of a call where there are no threads (contract: cpu/pool.h, surprisal/cpu.h).
#include "call.h"
#include "cpu/pool.h"
#include "shared/checks.h"

namespace srp::wasm {
bool only_checks = false;
}

namespace srp::cpu {

int32_t threads_of_call() { return 1; }

srp_status run_rows(int64_t rows, int64_t, void* context, RunPiece run) {
  if (wasm::only_checks) return fail(SRP_STOPPED, "checked");
  return rows <= 0 ? SRP_OK : run(context, 0, rows);
}

srp_status run_pieces(int64_t count, int64_t size, void* context, RunPiece run) {
  if (wasm::only_checks) return fail(SRP_STOPPED, "checked");
  for (int64_t begin = 0; begin < count; begin += size)
    SRP_TRY(run(context, begin, size < count - begin ? begin + size : count));
  return SRP_OK;
}

}  // namespace srp::cpu
