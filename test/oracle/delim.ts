// Spans between delimiters by their definition: every row is copied out, every pair of start and end is looked at.

export interface SpanRules {
  start: readonly (readonly number[])[];
  end: readonly (readonly number[])[];
  head?: readonly (readonly number[])[];
  overlapping?: boolean;
  includeEnd?: "all" | "first" | "none";
  unterminated?: "drop" | "keep";
  startsOpen?: boolean;
}

export interface FoundSpan {
  row: number;
  begin: number;
  finish: number;
  startAlternative: number;
  endAlternative: number;
}

interface Hit {
  at: number;
  length: number;
  alternative: number;
}

/** All places where a delimiter matches, in order, each with its best alternative. */
function hits(row: readonly number[], alternatives: readonly (readonly number[])[]): Hit[] {
  const found: Hit[] = [];
  row.forEach((_, at) => {
    const best = alternatives
      .map((ids, alternative) => ({ at, length: ids.length, alternative, ids }))
      .filter(({ ids, length }) => String(row.slice(at, at + length)) === String(ids))
      .sort((a, b) => b.length - a.length || a.alternative - b.alternative)[0];
    if (best) found.push({ at, length: best.length, alternative: best.alternative });
  });
  return found;
}

function rowSpans(row: readonly number[], number: number, rules: SpanRules): FoundSpan[] {
  const { overlapping = false, includeEnd = "all", unterminated = "drop", startsOpen = false } = rules;
  const head = hits(row, rules.head ?? [])[0];
  const ends = hits(row, rules.end);
  const openings = hits(row, rules.start).map((hit) => ({
    from: hit.at,
    begin: hit.at + hit.length,
    alternative: hit.alternative,
  }));
  if (startsOpen) openings.unshift({ from: -1, begin: 0, alternative: -1 });

  const spans: FoundSpan[] = [];
  if (head)
    spans.push({
      row: number,
      begin: 0,
      finish: head.at + head.length,
      startAlternative: -2,
      endAlternative: head.alternative,
    });
  let resume = -1;
  for (const { from, begin, alternative } of openings) {
    if (!overlapping && from < resume) continue;
    const end = ends.find(({ at }) => at >= begin);
    const included = end && { all: end.length, first: 1, none: 0 }[includeEnd];
    const finish = end && included !== undefined ? end.at + included : unterminated === "keep" ? row.length : begin;
    if (finish > begin)
      spans.push({
        row: number,
        begin,
        finish,
        startAlternative: alternative,
        endAlternative: end ? end.alternative : -1,
      });
    resume = end ? end.at + end.length : row.length;
  }
  return spans;
}

export function spansOracle(rows: readonly (readonly number[])[], rules: SpanRules): FoundSpan[] {
  return rows.flatMap((row, number) => rowSpans(row, number, rules));
}

export function spanMeansOracle(
  rows: readonly (readonly number[])[],
  spans: readonly (readonly [number, number, number])[],
): number[] {
  return spans.map(([row, begin, finish]) => {
    const inside = rows[row]!.slice(begin, finish);
    return inside.reduce((sum, value) => sum + value, 0) / inside.length;
  });
}

export function spanMaskOracle(
  lengths: readonly number[],
  spans: readonly (readonly [number, number, number])[],
): number[] {
  return lengths.flatMap((length, row) =>
    Array.from({ length }, (_, t) => Number(spans.some(([b, begin, finish]) => b === row && begin <= t && t < finish))),
  );
}
