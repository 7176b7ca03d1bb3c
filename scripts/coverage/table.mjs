// Coverage as people read it: a line a folder, and the files that are reached least.

const LEAST = 20;

const percent = ({ lines, reached }) => `${((100 * reached) / lines).toFixed(1)} %`;

function add(sums, name, { lines, reached }) {
  const sum = (sums[name] ??= { lines: 0, reached: 0 });
  sum.lines += lines;
  sum.reached += reached;
}

function rows(entries) {
  const width = Math.max(...entries.map(([name]) => name.length));
  return entries.map(
    ([name, sum]) => `${name.padEnd(width)}  ${percent(sum).padStart(8)}  ${sum.reached} of ${sum.lines} lines`,
  );
}

/** @param {Record<string, { lines: number, reached: number }>} files by their paths */
export function table(files) {
  const folders = {};
  const all = {};
  const counted = Object.entries(files).filter(([, { lines }]) => lines > 0);
  if (counted.length === 0) return "no file was reached";
  for (const [file, sum] of counted) {
    add(
      folders,
      file
        .split("/")
        .slice(0, 2)
        .join("/")
        .replace(/\/[^/]*\.ts$/, ""),
      sum,
    );
    add(all, file.split("/")[0], sum);
  }
  const byName = ([a], [b]) => (a < b ? -1 : 1);
  const missed = ([, { lines, reached }]) => lines - reached;
  const least = counted.filter((entry) => missed(entry) > 0).sort((a, b) => missed(b) - missed(a));
  return [
    ...rows(Object.entries(folders).sort(byName)),
    "",
    ...rows(Object.entries(all).sort(byName)),
    "",
    `most lines that no test reached, ${Math.min(LEAST, least.length)} of ${least.length} files:`,
    ...(least.length > 0 ? rows(least.slice(0, LEAST)) : []),
  ].join("\n");
}
