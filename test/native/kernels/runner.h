// Executes calls on both backends and counts what does not hold.
#pragma once
#include <string>
#include <vector>

#include "call.h"
#include "fence.h"

namespace srp::test {

struct Outcome {
  srp_status status;  // of the op
  srp_status synced;  // of the sync() behind it
  std::vector<Data> arrays;  // afterwards
};

// One backend with a queue.
class Backend {
 public:
  explicit Backend(const srp_backend* table, Fence fence = Fence::kNone);
  ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  // Every array in an allocation of exactly its size, so that a sanitizer sees one element more, or beside a fence, where it is
  // the host that calls. An empty array is an allocation of nothing, or NULL.
  Outcome execute(const AnyCall& call, bool empty_is_null) const;

  // The same, where any step may fail: empty if none did, else the steps that did with their texts. Afterwards nothing is
  // left of the call.
  std::string attempt(const AnyCall& call, std::vector<Data>& arrays) const;
  // Gives back what the backend keeps for later.
  void trim() const;

  const char* name() const { return table_->name; }
  const char* last_error() const { return table_->last_error(); }

 private:
  Outcome execute_in_own_memory(const AnyCall& call, bool empty_is_null) const;
  Outcome execute_fenced(const AnyCall& call, bool empty_is_null) const;
  void expect(srp_status status, const char* what) const;

  const srp_backend* table_;
  const Fence fence_;
  srp_queue* queue_ = nullptr;
};

// What the CPU backend makes of a good call: the arrays that one op hands to the next.
Outcome on_cpu(const AnyCall& call);

// What a device backend, which cannot look at data before it launches, says about data that points outside.
enum class AtSync { kReported, kReportedOrNot };

// What is done with a good call: it is held against the CPU backend, or every call of the CUDA runtime that it takes is
// made to fail in turn.
enum class Claim { kAgrees, kEndures };

class Runner {
 public:
  // Thread orders of the emulation, by number. Of an op's cases the first and then one in `every`.
  Runner(Claim claim, std::vector<int> orders, int every);

  // A short suite takes the next case too: no other one reaches its kernels.
  void want_next() { wanted_ = true; }

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
  // False: the case is left out.
  bool start_case(const char* what);
  void endures(const AnyCall& call);
  void fail(const std::string& text);
  void close_op();
  // After a good call; false when something is wrong with it already.
  bool succeeded(const Backend& backend, const AnyCall& call, const Outcome& outcome);
  void unchanged(const Backend& backend, const AnyCall& call, const Outcome& outcome, bool outputs_too);

  const Claim kind_;
  const Backend cpu_, emulated_;
  const std::vector<int> orders_;
  const int every_;
  std::string op_, claim_;
  bool wanted_ = false;  // the next case, in a short suite too
  size_t roster_ = 0;  // as long as the names of the kernels that ran before the last case
  int cases_ = 0, done_ = 0, failures_ = 0, failed_ops_ = 0;
  bool empty_is_null_ = false;
};

}  // namespace srp::test
