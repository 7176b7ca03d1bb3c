// Two functions a family: good calls on which both backends agree, and calls that both refuse.
#pragma once
#include "runner.h"

namespace srp::test {

void logprob_agrees(Runner& run);
void logprob_refuses(Runner& run);
void delim_agrees(Runner& run);
void delim_refuses(Runner& run);
void group_agrees(Runner& run);
void group_refuses(Runner& run);
void group_rows_agrees(Runner& run);
void group_rows_refuses(Runner& run);
void scan_agrees(Runner& run);
void scan_refuses(Runner& run);
void ratio_agrees(Runner& run);
void ratio_refuses(Runner& run);
void modulate_agrees(Runner& run);
void modulate_refuses(Runner& run);
void reduce_agrees(Runner& run);
void reduce_refuses(Runner& run);
void select_agrees(Runner& run);
void select_refuses(Runner& run);
void correction_agrees(Runner& run);
void correction_refuses(Runner& run);
void linear_agrees(Runner& run);
void linear_refuses(Runner& run);
void divergence_agrees(Runner& run);
void divergence_refuses(Runner& run);
void loss_agrees(Runner& run);
void loss_refuses(Runner& run);
void loss_logits_agrees(Runner& run);
void loss_logits_refuses(Runner& run);

}  // namespace srp::test
