// All ops that the addon offers, family by family.
#include <ctype.h>

#include <algorithm>

#include "field.h"

namespace srp::binding {

// "mask_mode" → "maskMode"; a capital letter (B, T, G) stays as it is.
std::string camel_case(const char* snake) {
  std::string name;
  bool upper = false;
  for (const char* c = snake; *c; ++c) {
    if (*c == '_') {
      upper = true;
      continue;
    }
    name += upper ? static_cast<char>(toupper(*c)) : *c;
    upper = false;
  }
  return name;
}

const std::vector<Op>& all_ops() {
  // Built once and never destroyed: a call on another thread may outlive static destruction at exit.
  static const std::vector<Op>& ops = *[] {
    auto* const all = new std::vector<Op>;
    for (auto family : {logprob_ops, delim_ops, group_ops, scan_ops, ratio_ops, modulate_ops, reduce_ops, select_ops,
                        loss_ops, correction_ops, linear_ops, divergence_ops})
      for (Op& op : family()) {
        const auto arrays = std::stable_partition(op.fields.begin(), op.fields.end(),
                                                  [](const Field& field) { return !is_array(field.kind); });
        op.numbers = static_cast<size_t>(arrays - op.fields.begin());
        all->push_back(std::move(op));
      }
    return all;
  }();
  return ops;
}

}  // namespace srp::binding
