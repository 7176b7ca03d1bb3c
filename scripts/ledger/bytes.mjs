// The formulas of the ledger as numbers: "2 s V N + 4 (K + 1) N" with values for its names.
//
// Names and numbers side by side multiply, "/" divides, "+" and "-" add; left to right within a term. "a, then b" is the
// larger of the two launches' bytes; "and" joins what is added inside of a term ("B inputs and outputs" is B (inputs +
// outputs)).

/** The value, or undefined where a name has none or the text is no formula. */
export function evaluate(formula, values) {
  const launches = formula.split(/,\s*then\s+/);
  const numbers = launches.map((text) => sum(text, values));
  return numbers.includes(undefined) ? undefined : Math.max(...numbers);
}

function sum(text, values) {
  const tokens = text.replace(/(\w+) and (\w+)/g, "($1 + $2)").match(/\d+(?:\.\d+)?|[A-Za-z_]\w*|[-+/()]|\S/g) ?? [];
  let next = 0;
  let known = true;

  const additive = () => {
    let value = term();
    while (tokens[next] === "+" || tokens[next] === "-") value += tokens[next++] === "+" ? term() : -term();
    return value;
  };
  const term = () => {
    let value = factor();
    while (next < tokens.length && !["+", "-", ")"].includes(tokens[next])) {
      if (tokens[next] === "/") {
        next++;
        value /= factor();
      } else {
        value *= factor();
      }
    }
    return value;
  };
  const factor = () => {
    const token = tokens[next++];
    if (token === "(") {
      const value = additive();
      if (tokens[next++] !== ")") known = false;
      return value;
    }
    if (token !== undefined && /^\d/.test(token)) return Number(token);
    if (token === undefined || typeof values[token] !== "number") known = false;
    return values[token] ?? NaN;
  };

  const value = additive();
  return known && next === tokens.length ? value : undefined;
}
