// The functions of the CPU backend, one an op: srp::cpu::scan_gae is the table's scan_gae. Host memory; the queue is not used.
#ifndef SURPRISAL_CPU_BACKEND_H
#define SURPRISAL_CPU_BACKEND_H

#include "surprisal/backend.h"

namespace srp::cpu {

#define SRP_DECLARE(op) srp_status op(srp_queue*, const srp_##op##_args*);
SRP_FOR_EACH_OP(SRP_DECLARE)
#undef SRP_DECLARE

}  // namespace srp::cpu

#endif
