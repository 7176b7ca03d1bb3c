// What holds a goal of the CPU back, by its words in goals.ts: shown where the goal is missed. What the results beside it show, or
// what the code says of itself.
const FORWARD =
  "arithmetic, of which bfloat16 has as much as float32 with twice its bytes: fourteen operations a register with AVX-512, 7 cycles where a core begins two of them a cycle and 3.5 where it begins four. Where a register has 8 lanes or fewer its steps wait for each other, and the schedulers of a core hold too few registers' steps to keep its pipes at work";
const BFLOAT16 = "arithmetic, as of float32, against half of its bytes";
const TOKENS = "an exponential in float64 for each token, its gradient and all figures of the loss, against 13 bytes";
const SCAN =
  "arithmetic: steps are composed in float64, whose lanes have to be moved for it, and made of float32 and back";
const CALL =
  "the way through Node-API, which is asked for each array, and the checks of options and arrays in JavaScript";
const HEAD =
  "short runs of products are gathered in float64, which a product in float32 does not do, and the exponentials of the logits follow";

export const LIMITS: Readonly<Record<string, string>> = {
  "forward, float32, V ≥ 100K": FORWARD,
  "forward, float32, V = 32,000": FORWARD,
  "forward, float32, V = 4,096": `${FORWARD}. A row's first block is looked through for its maximum before it is summed, and the maximum's lane is summed again`,
  "forward, bfloat16, V ≥ 100K": BFLOAT16,
  "forward, bfloat16, V = 32,000": BFLOAT16,
  "forward, bfloat16, V = 4,096": BFLOAT16,
  "forward, float32, one row in the cache": `${FORWARD}. The cache, its roof, is several times as fast as memory`,
  "backward, bfloat16":
    "arithmetic: the exponential of float32, whose goal is reached, and rounding to bfloat16, for which AVX512_BF16 alone has an instruction",
  "backward, bfloat16, in place": "as out of place",
  "backward into new arrays, against memory that was used before":
    "the system clears pages before it hands them out, which takes longer than the call itself even where they are huge; an arena, or `out`, has none of it",
  "loss from logits, against forward, loss and backward one after the other":
    "one call saves memory alone, and the passes are arithmetic where there is no AVX-512",
  "GAE, any rows × steps": SCAN,
  "discounted returns, any rows × steps": SCAN,
  "discounted returns, rows of 100 to 128": `${SCAN}. Rows that end inside of a line of the cache are written in parts`,
  "group normalisation, groups of 8":
    "three quotients and a root in float64 for each register of groups, items turned over in registers, and made of float32 and back twice",
  "group normalisation, groups of 64": "as of 8, with fewer quotients an item",
  "token loss with gradient": TOKENS,
  divergence: "two exponentials in float64 an id, against 8 bytes",
  correction:
    "an exponential in float64 for each token, or a polynomial of its length, against 9 to 14 bytes; and measures walk their statistics a second time, for deviations from the mean",
  "forward, float32, AVX2 alone": FORWARD,
  "forward, float32, baseline x86-64":
    "four lanes without a fused multiply-add and without a lookup by lane: whole powers of two and a polynomial of degree 6",
  "a call on one group of 8, ms": CALL,
  "a call on 64 × 64 ratios of tokens with gradient, ms":
    "an exponential in float64 for each of 4,096 tokens, what begins and ends 64 rows, and the way through Node-API",
  "a call on 64 tokens or fewer, ms": `${CALL}; tokenLoss and rowLoss return 19 figures of each row besides, an array each`,
  "a call on 64 ratios of 64 tokens with gradient, ms": `${CALL}; and what begins and ends 64 rows`,
  'require("surprisal") and the first call, ms':
    "a third of a megabyte of JavaScript is read and compiled; where native code runs, node-gyp-build looks for it and the system loads it",
  ...Object.fromEntries(
    ["numpy's", "torch's"].flatMap((whose) => [
      [`linear head, forward, against ${whose} matrix product alone`, HEAD],
      [
        `linear head, forward, bfloat16, against ${whose} matrix product of float32 alone`,
        `without AVX512_BF16 bfloat16 is widened, and its products are those of float32; ${HEAD}`,
      ],
      [`linear head, forward and backward, against ${whose} five products alone`, HEAD],
    ]),
  ),
  "every peer, every case": "the linear head, whose peers return the product alone",
};
