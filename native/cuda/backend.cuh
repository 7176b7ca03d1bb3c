// The launchers of the CUDA backend, one an op: srp::cuda::scan_gae is the table's scan_gae. Each checks, launches on the
// queue's stream and returns.
#pragma once
#include "surprisal/backend.h"

namespace srp::cuda {

#define SRP_DECLARE(op) srp_status op(srp_queue*, const srp_##op##_args*);
SRP_FOR_EACH_OP(SRP_DECLARE)
#undef SRP_DECLARE

}  // namespace srp::cuda
