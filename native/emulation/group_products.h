// Products of warpgroups (wgmma) of one block, which run beside the threads that began them.
//
// A warp of the four that make a group has 16 rows of 64 x 128 sums. Between the beginning of a product and the wait for it its sums
// are NaN, and what it reads must stay; it is computed when it is waited for. Sums are as those of mma (matrix.cpp).
#pragma once
#include <string>
#include <vector>

#include "async_copies.h"
#include "machine.h"

namespace srp::emulation {

class GroupProducts {
 public:
  // A new block of `warps`.
  void reset(unsigned warps);

  void fence(unsigned warp);
  // Each returns the rule that was broken, or nothing. `lanes`: what each lane brought.
  std::string begin(unsigned warp, GroupProduct* const (&lanes)[warpSize], Site site, AsyncCopies& copies,
                    unsigned phase);
  std::string commit(unsigned warp);
  void wait(unsigned warp, int groups, AsyncCopies& copies, unsigned phase);

  // The four warps of a group must have begun as many products as each other wherever the block meets, and at its end.
  std::string uneven() const;
  std::string on_return(unsigned warp) const;

 private:
  static constexpr unsigned kRows = 16, kColumns = 128, kTerms = 16, kOwn = 64;
  struct Product {
    GroupProduct of;
    float* sums[warpSize];
    Site site;
  };
  // Sums of a warp that products are adding to, as the threads will get them.
  struct Held {
    float* first;  // of lane 0
    unsigned products;
    float sums[warpSize][kOwn];
  };
  static constexpr size_t kMost = 64, kMostHeld = 4;  // under way in a warp: products, and arrays of sums

  // First in, first out.
  template <class T>
  struct Queue {
    T items[kMost];
    size_t begun = 0, done = 0;
    size_t size() const { return begun - done; }
    bool full() const { return size() == kMost; }
    const T& front() const { return items[done % kMost]; }
    T& front() { return items[done % kMost]; }
    void push(const T& item) { items[begun++ % kMost] = item; }
    void pop() { ++done; }
  };
  struct Warp {
    Queue<Product> products;
    Queue<size_t> groups;  // products of each committed group
    size_t open = 0;  // products that are in no group yet
    Site last{};
    bool fenced = false;
    std::vector<Held> held;
  };

  template <class Place>
  static void each_place(const Product& product, unsigned warp, const Place& place);
  void finish(unsigned warp, AsyncCopies& copies, unsigned phase);

  std::vector<Warp> warps_;
};

}  // namespace srp::emulation
