/* Spans of tokens between delimiters, their means and their mask.
 *
 * A delimiter is one or more alternatives, each a non-empty id sequence. At a position the longest alternative that
 * matches wins, then the one listed first. Alternatives are packed: ids [sum of lengths], offsets [count+1].
 *
 *   spans     `spans`: where the spans of every row are; `alternatives`: what opened and closed each; `count`: how many there are
 *   means     `means`: mean of the values over each span
 *   mask      `mask`: 1 inside any span, else 0
 *   ngrams    `counts` of a row: its n-grams (`length` neighbouring tokens that the mask keeps, all of them), and how many different ones
 * formulas  docs/ops/delim.md, with the rules by which spans are found
 *
 * head      optional: its first match makes a span from the row's begin to the end of the match, before every other span of the row
 * starts_open  1: the row begins inside an open span: position 0 is treated as the end of a start delimiter
 * include_end  END_ALL: a span holds the whole end delimiter, END_FIRST its first id, END_NONE nothing of it (an empty range is not
 *           emitted)
 * unterminated  a span that no end closes is dropped, or with KEEP goes on to the row's end, if it begins inside the row
 * overlapping  0: the scan resumes behind the end delimiter; an unclosed start ends it. 1: it resumes at the token behind the first
 *           of the start delimiter, so that every start opens a span
 *
 * spans     int32 [capacity,3]: row, begin, finish, within the row, 0-based, end exclusive; sorted by row, in it the head first, then
 *           by where their start matched
 * alternatives int32 [capacity,2] or NULL: index of the start alternative (-1: starts_open, -2: a head span) and of the end
 *           alternative (-1: unterminated; the head's own alternative for a head span)
 * count     int64 [1]: spans found, also when they are more than capacity; then only the first capacity are written
 * ids       int32 or, as tokens alone, int64. An int64 that is no int32 is SRP_OUT_OF_RANGE: count is untouched, spans and
 *           alternatives are unspecified then. Tokens behind a row's length are not read
 * matching  stays inside a row (with lengths: inside its valid tokens); a row shorter than a delimiter has no match;
 *           n or B 0: count 0. B and T are below 2^31, since spans are int32
 *
 * means     float64; an empty span gives NaN
 * ngrams    are compared id by id
 * spans given to means and mask may come from anywhere, in any order: a row outside [0,B) or a range outside the row is
 *           SRP_OUT_OF_RANGE
 * count     of means and mask: NULL, or how many of the S spans there are, that of the op above as it lies on a device; means
 *           behind them are 0. More than S: SRP_BAD_SHAPE, from a device at the next sync()
 * cost      spans and mask are linear in tokens (times the alternatives tried at a token), overlapping or not; ngrams in
 *           tokens times length, on average (an open hash table of two int32 a token; equal hashes are compared by id)
 * precision integers are exact; means sum in float64 in token order
 * memory    outputs may not overlap inputs */
#ifndef SURPRISAL_DELIM_H
#define SURPRISAL_DELIM_H

#include "surprisal/dtype.h"
#include "surprisal/status.h"

/* In `alternatives`, where a span was not opened by a start alternative, or not closed by an end alternative. */
enum { SRP_ROW_STARTS_OPEN = -1, SRP_HEAD_SPAN = -2, SRP_UNTERMINATED = -1 };

typedef enum { SRP_END_ALL = 0, SRP_END_FIRST = 1, SRP_END_NONE = 2 } srp_include_end;

typedef struct {
  uint32_t size;
  int32_t dtype;                /* SRP_I32 or SRP_I64: of tokens */
  const void* tokens;           /* [n] */
  const int32_t* offsets;       /* [B + 1] or NULL = padded */
  const int32_t* lengths;       /* [B] or NULL: valid tokens of a padded row, 0..T; padded only */
  const int32_t* start_ids;     /* [start_size] */
  const int32_t* start_offsets; /* [start_count + 1] */
  const int32_t* end_ids;       /* [end_size] */
  const int32_t* end_offsets;   /* [end_count + 1] */
  const int32_t* head_ids;      /* [head_size] or NULL with head_count 0 */
  const int32_t* head_offsets;  /* [head_count + 1] or NULL with head_count 0 */
  int64_t n, B, T;
  int64_t start_count, end_count, head_count; /* alternatives; start and end need one at least */
  int64_t start_size, end_size, head_size;    /* ids of all alternatives together */
  int64_t capacity;
  int32_t overlapping;                    /* 0 or 1 */
  int32_t include_end;                    /* srp_include_end */
  int32_t unterminated_keep, starts_open; /* 0 or 1 */
  int32_t* spans;                         /* [capacity, 3] */
  int32_t* alternatives;                  /* [capacity, 2] or NULL */
  int64_t* count;                         /* [1] */
} srp_delim_spans_args;

typedef struct {
  uint32_t size;
  int32_t dtype;          /* SRP_F32 or SRP_F64: of values */
  const void* values;     /* [n] */
  const int32_t* offsets; /* [B + 1] or NULL = padded */
  const int32_t* spans;   /* [S, 3] */
  int64_t n, B, T, S;
  double* means;        /* [S] */
  const int64_t* count; /* [1] or NULL = S: how many of the spans there are */
} srp_delim_means_args;

typedef struct {
  uint32_t size;
  const int32_t* offsets; /* [B + 1] or NULL = padded */
  const int32_t* spans;   /* [S, 3] */
  int64_t n, B, T, S;
  uint8_t* mask;        /* [n] */
  const int64_t* count; /* [1] or NULL = S: how many of the spans there are */
} srp_delim_mask_args;

typedef struct {
  uint32_t size;
  const int32_t* tokens;  /* [n] */
  const uint8_t* mask;    /* [n] or NULL = all kept */
  const int32_t* offsets; /* [B + 1] or NULL = padded */
  int64_t n, B, T;
  int64_t length;  /* >= 1 */
  int32_t* counts; /* [B, 2]: n-grams, different ones */
} srp_delim_ngrams_args;

#endif
