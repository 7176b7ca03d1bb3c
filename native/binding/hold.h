// Memory of JavaScript that a thread off the event loop may use.
#ifndef SURPRISAL_BINDING_HOLD_H
#define SURPRISAL_BINDING_HOLD_H

#include <node_api.h>

#include <memory>

namespace srp::binding {

// JavaScript thread: a share in the memory of an ArrayBuffer, which stays there for as long as the share does, on any thread,
// whoever detaches the buffer meanwhile. NULL where that cannot be had: then what lies in it must be copied before JavaScript
// goes on. Shared memory needs no share; a resizable buffer gives up memory whoever has one.
std::shared_ptr<void> hold(napi_env env, napi_value array_buffer);

}  // namespace srp::binding

#endif
