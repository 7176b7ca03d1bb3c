// The packages that know Parquet: optional, loaded when they are first needed.
import type * as HyparquetWriter from "hyparquet-writer" with { "resolution-mode": "import" };
import { SurprisalError } from "../core/errors";

export function missingPackage(op: string, name: string, error: unknown): SurprisalError {
  return new SurprisalError(
    "ERR_SURPRISAL_OPTION",
    `${op}: Parquet needs the package ${name}, which cannot be loaded (${(error as Error).message}); npm install ${name}`,
    { op, name: "format", got: "parquet", want: `the package ${name}` },
    { cause: error },
  );
}

/** An ES module: import() is how CommonJS reaches it. */
export async function parquetWriter(op: string): Promise<typeof HyparquetWriter> {
  try {
    return await import("hyparquet-writer");
  } catch (error) {
    throw missingPackage(op, "hyparquet-writer", error);
  }
}
