// Tables of groups: a click on a heading sorts, a second one turns the order round, a third one brings back the first order.

/** @param {HTMLTableRowElement} row @param {number} column @param {boolean} numeric */
function sortKey(row, column, numeric) {
  const text = row.cells[column].dataset.value ?? "";
  return numeric ? (text === "" ? NaN : Number(text)) : text;
}

/** Rows without a value come last in both orders. @param {string | number} a @param {string | number} b @param {number} sign */
function compareKeys(a, b, sign) {
  if (typeof a === "string" || typeof b === "string")
    return sign * String(a).localeCompare(String(b), "en", { numeric: true });
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return sign * (a - b);
}

/** @param {HTMLTableElement} table */
function setUpTable(table) {
  const headings = /** @type {HTMLTableCellElement[]} */ ([...table.rows[0].cells]);
  const body = table.tBodies[0];
  const inPlace = [...body.rows];

  headings.forEach((heading, column) => {
    heading.querySelector("button.sort")?.addEventListener("click", () => {
      const next =
        { none: "descending", descending: "ascending", ascending: "none" }[heading.ariaSort ?? "none"] ?? "none";
      for (const other of headings) if (other.ariaSort !== null) other.ariaSort = "none";
      heading.ariaSort = next;
      const numeric = heading.classList.contains("number");
      const sign = next === "ascending" ? 1 : -1;
      const rows = [...inPlace];
      if (next !== "none")
        rows.sort((a, b) => compareKeys(sortKey(a, column, numeric), sortKey(b, column, numeric), sign));
      body.append(...rows);
      const title = heading.textContent ?? "";
      announce(next === "none" ? "In the order of the file" : `Sorted by ${title.toLowerCase()}, ${next}`);
    });
  });
}
