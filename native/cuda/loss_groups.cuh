// loss_row of groups of rows, of loss_groups.cu.
#pragma once
#include "queue.cuh"
#include "shared/loss.h"

namespace srp::cuda {

srp_status group_losses(srp_queue* queue, const LossArgs& a);

}  // namespace srp::cuda
