// The whole rollout on one strip: what the background shows, spans and clipped tokens below, and the part that is in view.

const RIBBON_WIDTH = 1000;
const RIBBON_HEIGHT = 56;
const LANE = 10;
const MOST_BINS = 250;

/** Means over neighbours: one bar a bin. @param {PageRollout} rollout @param {string} heat */
function ribbonBins(rollout, heat) {
  const count = rollout.pieces.length;
  const bins = Math.min(count, MOST_BINS);
  return Array.from({ length: bins }, (_, bin) => {
    const from = Math.floor((bin * count) / bins);
    const to = Math.floor(((bin + 1) * count) / bins);
    let sum = 0;
    let kept = 0;
    let clips = false;
    for (let token = from; token < to; ++token) {
      if (rollout.masked?.[token]) continue;
      clips ||= Boolean(rollout.clipped?.[token]);
      const value = heatOf(rollout, token, heat);
      if (value === null || value === undefined) continue;
      sum += value;
      ++kept;
    }
    return { mean: kept > 0 ? sum / kept : null, clips };
  });
}

/**
 * Draws the strip into `box`; answers a function that marks the part in view, tokens from … to.
 * @param {HTMLElement} box @param {PageRollout} rollout @param {string} heat
 * @returns {(from: number, to: number) => void}
 */
function drawRibbon(box, rollout, heat) {
  const count = Math.max(rollout.pieces.length, 1);
  const drawing = makeDrawing("svg", { viewBox: `0 0 ${RIBBON_WIDTH} ${RIBBON_HEIGHT}`, preserveAspectRatio: "none" });
  const x = (/** @type {number} */ token) => (token / count) * RIBBON_WIDTH;
  const bins = ribbonBins(rollout, heat);
  const width = RIBBON_WIDTH / Math.max(bins.length, 1);
  const floor = RIBBON_HEIGHT - LANE - 3;
  const highest = bins.reduce((most, { mean }) => Math.max(most, mean ?? 0), 0) || 1;
  const seen = makeDrawing("rect", { class: "seen", y: 0, height: RIBBON_HEIGHT, rx: 3 });
  drawing.append(seen);
  bins.forEach(({ mean, clips }, bin) => {
    const height = mean === null ? 1 : Math.max(1.5, (mean / highest) * (floor - 2));
    const level = mean === null ? "none" : `f${heatLevel(mean)}`;
    drawing.append(
      makeDrawing("rect", { class: `bin ${level}`, x: bin * width, y: floor - height, width: width * 0.86, height }),
    );
    if (clips)
      drawing.append(
        makeDrawing("rect", {
          class: "clip",
          x: bin * width,
          y: floor + 0.5,
          width: Math.max(width * 0.86, 1.5),
          height: 2,
        }),
      );
  });
  for (const { begin, finish, before, after } of rollout.spans) {
    const change = typeof before === "number" && typeof after === "number" ? Math.sign(after - before) : 0;
    const kind = change > 0 ? " more" : change < 0 ? " less" : "";
    drawing.append(
      makeDrawing("rect", {
        class: `band${kind}`,
        x: x(begin) + 0.8,
        y: floor + 4,
        width: Math.max(x(finish) - x(begin) - 1.6, 1),
        height: LANE - 1,
        rx: 2,
      }),
    );
  }
  box.replaceChildren(drawing);
  return (from, to) => {
    seen.setAttribute("x", String(x(from)));
    seen.setAttribute("width", String(Math.max(x(to) - x(from), 4)));
  };
}
