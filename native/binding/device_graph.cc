// Recorded work.
#include "device.h"

namespace srp::binding {

Napi::Value capture_begin(const Napi::CallbackInfo& info) {
  Arguments arguments(info);
  const std::shared_ptr<Queue> queue = arguments.queue(0);
  if (!queue) return arguments.status();
  arguments.check(queue->functions()->capture_begin(queue->get()), *queue);
  if (arguments.good()) queue->capture = std::make_unique<Capture>();
  return arguments.status();
}

Napi::Value capture_end(const Napi::CallbackInfo& info) {
  Arguments arguments(info);
  const std::shared_ptr<Queue> queue = arguments.queue(0);
  if (!queue) return arguments.status();
  const std::unique_ptr<Capture> capture = std::move(queue->capture);
  if (capture) capture->end();
  auto graph = std::make_unique<Graph>();
  graph->queue = queue;
  arguments.check(queue->functions()->capture_end(queue->get(), &graph->graph), *queue);
  if (!arguments.good()) return arguments.status();
  if (capture) graph->owners = std::move(capture->owners);
  return Napi::Value(info.Env(), wrap(info.Env(), std::move(graph)));
}

Napi::Value graph_launch(const Napi::CallbackInfo& info) {
  Arguments arguments(info);
  const std::shared_ptr<Queue> queue = arguments.queue(0);
  const Graph* const graph = arguments.graph(1);
  if (!arguments.good()) return arguments.status();
  if (!graph->graph)
    arguments.refuse(SRP_BAD_ARGUMENT, "the graph was released");
  else if (queue->capture)
    arguments.refuse(SRP_BAD_ARGUMENT, "the stream is being captured, and a graph cannot be part of another one");
  else if (!queue->same_device(*graph->queue))
    arguments.refuse(SRP_BAD_ARGUMENT, "the graph belongs to another device");
  for (size_t i = 0; arguments.good() && i < graph->owners.size(); ++i) {
    std::string error;
    const srp_status status = Owner::use(graph->owners[i], queue, &error);
    if (status != SRP_OK) arguments.refuse(status, "an array of the graph " + error);
  }
  if (arguments.good()) arguments.check(queue->functions()->graph_launch(graph->graph, queue->get()), *queue);
  return arguments.status();
}

Napi::Value graph_release(const Napi::CallbackInfo& info) {
  if (Graph* const graph = unwrap<Graph>(info.Env(), info[0])) graph->release();
  return info.Env().Undefined();
}

}  // namespace srp::binding
