// What a program may ask of the interpreter of its tests.

/**
 * A program asks for nothing but the use of what the tests handed to it. Its text becomes a request of that kind, whatever it says;
 * null: it is none.
 */
export function guestRequest(text: string): string | null {
  try {
    const request = JSON.parse(text) as Record<string, unknown> | null;
    return request?.["op"] === "peer" ? JSON.stringify({ ...request, op: "guest" }) : null;
  } catch {
    return null;
  }
}
