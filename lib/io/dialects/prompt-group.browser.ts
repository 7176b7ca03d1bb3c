// prompt-group.ts in a browser, whose SHA-256 answers later only: other labels, which distinguish prompts as well in one page.
const labels = new Map<string, string>();

export function promptGroup(prompt: string | Int32Array): string {
  const key = typeof prompt === "string" ? `text:${prompt}` : `ids:${prompt.join()}`;
  let label = labels.get(key);
  if (label === undefined) labels.set(key, (label = `prompt-${labels.size}`));
  return label;
}
