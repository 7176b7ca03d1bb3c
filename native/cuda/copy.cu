#include "copy.cuh"

#include <cstring>

#include "device.cuh"
#include "graph.cuh"

namespace srp::cuda {
namespace {

constexpr size_t kChunk = size_t{4} << 20;

size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

// The graph keeps the bytes as they are now, and copies them at each launch.
srp_status record_copy(srp_queue* queue, void* to, const void* from, size_t bytes) {
  Pinned* memory = nullptr;
  SRP_TRY(queue->home->pinned.make(bytes, &memory));
  queue->graph->add(memory);
  memcpy(memory->pointer, from, bytes);
  return check_cuda(cudaMemcpyAsync(to, memory->pointer, bytes, cudaMemcpyHostToDevice, queue->stream), "copy");
}

// The copy if there is no page-locked memory left: the runtime then uses its own.
srp_status copy_and_wait(srp_queue* queue, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  SRP_TRY(check_cuda(cudaMemcpyAsync(to, from, bytes, kind, queue->stream), "copy"));
  return check_cuda(cudaStreamSynchronize(queue->stream), "copy");
}

}  // namespace

srp_status copy_to_device(srp_queue* queue, void* to, const void* from, size_t bytes) {
  if (queue->graph) return record_copy(queue, to, from, bytes);
  PinnedMemory& pinned = queue->home->pinned;
  for (size_t done = 0; done < bytes;) {
    const size_t part = smaller(kChunk, bytes - done);
    char* const target = static_cast<char*>(to) + done;
    const char* const source = static_cast<const char*>(from) + done;
    Pinned* memory = nullptr;
    SRP_TRY(pinned.borrow(part, &memory));
    if (!memory) return copy_and_wait(queue, target, source, bytes - done, cudaMemcpyHostToDevice);
    memcpy(memory->pointer, source, part);
    const srp_status copied =
        check_cuda(cudaMemcpyAsync(target, memory->pointer, part, cudaMemcpyHostToDevice, queue->stream), "copy");
    const srp_status given = pinned.give_back(memory, queue->stream);
    SRP_TRY(copied);
    SRP_TRY(given);
    done += part;
  }
  return SRP_OK;
}

// While one chunk is copied out of page-locked memory, the device copies the next one into it.
srp_status copy_to_host(srp_queue* queue, void* to, const void* from, size_t bytes) {
  SRP_TRY(refuse_capture(queue, "copy to the host"));
  PinnedMemory& pinned = queue->home->pinned;
  Pinned* chunks[2] = {};
  srp_status status = SRP_OK;
  size_t asked = 0, done = 0;
  while (done < bytes && status == SRP_OK) {
    for (Pinned*& chunk : chunks) {
      if (chunk || asked == bytes || status != SRP_OK) continue;
      const size_t part = smaller(kChunk, bytes - asked);
      status = pinned.borrow(part, &chunk);
      if (status != SRP_OK || !chunk) break;
      status = check_cuda(cudaMemcpyAsync(chunk->pointer, static_cast<const char*>(from) + asked, part,
                                          cudaMemcpyDeviceToHost, queue->stream),
                          "copy");
      if (status == SRP_OK) status = check_cuda(cudaEventRecord(chunk->event, queue->stream), "copy");
      asked += part;
    }
    Pinned*& oldest = chunks[done / kChunk % 2];
    if (status != SRP_OK) break;
    if (!oldest) {
      status = copy_and_wait(queue, static_cast<char*>(to) + done, static_cast<const char*>(from) + done, bytes - done,
                             cudaMemcpyDeviceToHost);
      break;
    }
    const size_t part = smaller(kChunk, bytes - done);
    // The last chunk waits for the stream itself, which returns sooner than a wait for a blocking event.
    const bool last = done + part == bytes;
    status = check_cuda(last ? cudaStreamSynchronize(queue->stream) : cudaEventSynchronize(oldest->event), "copy");
    if (status == SRP_OK) memcpy(static_cast<char*>(to) + done, oldest->pointer, part);
    done += part;
    pinned.give_back(oldest, nullptr);
    oldest = nullptr;
  }
  for (Pinned* chunk : chunks)
    if (chunk) pinned.give_back(chunk, queue->stream);
  return status;
}

}  // namespace srp::cuda
