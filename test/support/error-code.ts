/** The code of the error that a call throws; undefined where it throws none, or one without a code. */
export function errorCode(call: () => unknown): string | undefined {
  try {
    call();
  } catch (error) {
    return (error as { code?: string }).code;
  }
  return undefined;
}
