// Executes calls on both backends and counts what does not hold.
#pragma once
#include <string>
#include <vector>

#include "call.h"

namespace srp::test {

struct Outcome {
  srp_status status;  // of the op
  srp_status synced;  // of the sync() behind it
  std::vector<Data> arrays;  // afterwards
};

// One backend with a queue.
class Backend {
 public:
  explicit Backend(const srp_backend* table);
  ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  // Every array in an allocation of exactly its size, so that a sanitizer sees one element more. An empty array is an
  // allocation of nothing, or NULL.
  Outcome execute(const AnyCall& call, bool empty_is_null) const;

  const char* name() const { return table_->name; }
  const char* last_error() const { return table_->last_error(); }

 private:
  void expect(srp_status status, const char* what) const;

  const srp_backend* table_;
  srp_queue* queue_ = nullptr;
};

// What the CPU backend makes of a good call: the arrays that one op hands to the next.
Outcome on_cpu(const AnyCall& call);

// What a device backend, which cannot look at data before it launches, says about data that points outside.
enum class AtSync { kReported, kReportedOrNot };

class Runner {
 public:
  // Thread orders of the emulation, by number.
  explicit Runner(std::vector<int> orders);

  // The cases that follow are about this op. Prints a line about the one before.
  void begin(const char* op, const char* claim);
  int finish();

  // A good call: no status but SRP_OK, no input changed, the emulated outputs within their tolerance of the CPU's, and
  // the same bits in every thread order.
  void agree(const AnyCall& call);
  // A call that both backends refuse at once, with all memory as it was.
  void refused(const char* why, const AnyCall& call, srp_status status);
  // Data that points outside: the CPU backend refuses at once, the emulated one when it is asked.
  void misled(const char* why, const AnyCall& call, srp_status cpu_status = SRP_OUT_OF_RANGE,
              AtSync device = AtSync::kReported);

 private:
  void start_case(const char* what);
  void fail(const std::string& text);
  void close_op();
  // After a good call; false when something is wrong with it already.
  bool succeeded(const Backend& backend, const AnyCall& call, const Outcome& outcome);
  void unchanged(const Backend& backend, const AnyCall& call, const Outcome& outcome, bool outputs_too);

  const Backend cpu_, emulated_;
  const std::vector<int> orders_;
  std::string op_, claim_;
  int cases_ = 0, failures_ = 0, failed_ops_ = 0;
  bool empty_is_null_ = false;
};

}  // namespace srp::test
