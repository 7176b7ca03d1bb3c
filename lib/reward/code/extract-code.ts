// The program in a response.
import { splitThinking } from "../extraction/thinking";
import type { CodeLanguage } from "./protocol";

const NAMES: Readonly<Record<CodeLanguage, readonly string[]>> = {
  python: ["python", "py", "python3"],
  javascript: ["javascript", "js", "node", "mjs"],
};

/**
 * The program of a response: the last fenced block that names the language, else the last fenced block, else all of it; behind
 * the thinking, where there is some.
 *
 * @returns null where nothing is left, or thinking never ends
 */
export function extractCode(text: string, language: CodeLanguage = "python"): string | null {
  const { answer } = splitThinking(text);
  if (answer === null) return null;
  const blocks = Array.from(answer.matchAll(/```([^\n`]*)\n([\s\S]*?)(?:```|$)/g), ([, name, code]) => ({
    name: name!.trim().toLowerCase(),
    code: code!,
  }));
  const code = blocks.findLast(({ name }) => NAMES[language].includes(name))?.code ?? blocks.at(-1)?.code ?? answer;
  return code.trim() === "" ? null : code;
}
