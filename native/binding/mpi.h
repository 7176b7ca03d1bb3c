// The processes of an MPI job, for JavaScript.
#ifndef SURPRISAL_BINDING_MPI_H
#define SURPRISAL_BINDING_MPI_H

#include <napi.h>

namespace srp::binding {

void export_mpi(const Napi::Env& env, Napi::Object& exports);

}  // namespace srp::binding

#endif
