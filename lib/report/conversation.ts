// Conversations as they can be read. Sources keep them as the JSON of their messages: [{"role": "user", "content": "…"}, …].

const OPENS = /^\s*\[\s*\{/;

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What one message says: its text, the texts of its parts, and whatever else it has as JSON. */
function saidIn({ role: _, content, ...rest }: Fields): string {
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  const texts = parts.map((part) => {
    if (typeof part === "string") return part;
    const text = isFields(part) ? part["text"] : undefined;
    return typeof text === "string" ? text : part == null ? "" : JSON.stringify(part);
  });
  const more = Object.entries(rest).filter(([, value]) => value != null);
  const besides = more.length > 0 ? [JSON.stringify(Object.fromEntries(more))] : [];
  return [...texts, ...besides].filter((text) => text !== "").join("\n");
}

function messagesOf(text: string): readonly Fields[] | undefined {
  if (!OPENS.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const isConversation =
      Array.isArray(value) && value.every((message) => isFields(message) && typeof message["role"] === "string");
    return isConversation ? (value as Fields[]) : undefined;
  } catch {
    return undefined; // text that begins like JSON
  }
}

/** A conversation as who says what, a message on its own alone; any other text as it is. */
export function readable(text: string): string {
  const messages = messagesOf(text);
  if (messages === undefined) return text;
  if (messages.length === 1) return saidIn(messages[0]!);
  return messages.map((message) => `${String(message["role"])}\n${saidIn(message)}`).join("\n\n");
}
