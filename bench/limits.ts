// What holds a goal of the CPU back, by its words in goals.ts: shown where the goal is missed. Counts and cycles are of one core of an
// EPYC (Zen 3, 3.2 GHz, AVX2) with everything in its caches, unless another is named.
const FORWARD =
  "arithmetic: a register of 8 logits takes 8.5 cycles from the caches and from memory alike. Its 16 operations would fit into 5; what fills the rest is not known. AVX-512 has registers of twice the size";
const TOKENS =
  "an exponential in float64 takes 2.4 cycles a token (0.76 ns), as long as memory takes for all of the token; with the loss 5, with all figures 6.5";
const SCAN =
  "the composition of steps in float64: conversions and moves across lanes, 3 cycles a token for GAE and 1.8 for returns";
const CALL =
  "the way through Node-API: 1.0 µs for a call of few arrays and 1.6 for one that has 22, most of them absent, beside 1.4 µs of checks in JavaScript";

export const LIMITS: Readonly<Record<string, string>> = {
  "forward, float32, V ≥ 100K": FORWARD,
  "forward, float32, V = 32,000": FORWARD,
  "forward, float32, V = 4,096": `${FORWARD}. A row's first block is looked through for its maximum before it is summed, and the maximum's lane is summed again`,
  "forward, bfloat16, V ≥ 100K": `${FORWARD}. The bytes are half of float32's, so that memory would be twice as fast`,
  "forward, bfloat16, V = 32,000": "as with the larger vocabulary",
  "forward, bfloat16, V = 4,096": "as with the larger vocabulary",
  "forward, float32, one row in the cache": `${FORWARD}; a cache is read four times as fast as memory`,
  "backward, bfloat16":
    "arithmetic: 9 cycles a register of 8, 6 of them the exponential, 3 the rounding to bfloat16, which has no instruction here",
  "backward, bfloat16, in place": "as out of place",
  "backward into new arrays, against memory that was used before":
    "the system hands out zeroed pages at their first touch, which takes as long as the gradient or longer; an arena, or `out`, has none of it",
  "loss from logits, against forward, loss and backward one after the other":
    "both passes are arithmetic where there is no AVX-512, and one call saves memory alone",
  "GAE, any rows × steps": SCAN,
  "discounted returns, any rows × steps": SCAN,
  "discounted returns, rows of 100 to 128": `${SCAN}; the last steps of a row, fewer than a register, take as long as several registers`,
  "group normalisation, groups of 8":
    "five quotients and roots in float64 for each register of groups, and items turned over in registers twice",
  "group normalisation, groups of 64": "as of 8, with fewer quotients an item; the rest is not known",
  "token loss with gradient": TOKENS,
  divergence: "two exponentials in float64 an id, 2.4 cycles each, against 8 bytes",
  correction: TOKENS,
  "forward, float32, AVX2 alone": FORWARD,
  "forward, float32, baseline x86-64":
    "four lanes without a fused multiply-add and without a lookup by lane: whole powers of two and a polynomial of degree 6",
  "the JavaScript backend, against plain loops of the same formula":
    "it checks NaN and masks, keeps float64 sums and returns figures that the plain loop does not have",
  "a call on one group of 8, ms": CALL,
  "a call on 64 × 64 ratios of tokens with gradient, ms": `${TOKENS}: 4,096 tokens take 8 µs; and what begins and ends 64 rows`,
  "a call on 64 tokens or fewer, ms": `${CALL}; a call without memory for its results allocates them`,
  "a call on 64 ratios of 64 tokens with gradient, ms": `${CALL}; and what begins and ends 64 rows`,
  'require("surprisal") and the first call, ms':
    "0.9 MB of JavaScript is read and compiled, most of it for other calls",
  "linear head, forward, against numpy's matrix product alone":
    "sums of 32 products are gathered in float64, which a product in float32 does not do, and the exponentials of the logits follow",
  "linear head, forward, against torch's matrix product alone": "as against numpy's",
  "every peer, every case": "the linear head, whose peers return the product alone",
};
