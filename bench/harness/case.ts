// A case: one op on one shape, how many bytes it must move, what its outputs must be, and who else can do the work.
import type { Library } from "./build";
import type { Contender } from "./pairing";
import type { Errors } from "../record";
import type { Roof, RoofKind } from "../roof/roof";
import type { Shape } from "../shapes";
import type { PeerTask } from "../peers/task";

/** One way to do the work of a case with a build of this package. */
export interface Work extends Contender {
  /** Compares every element of what the last run left with its definition. */
  readonly check: () => Errors;
}

export interface Subject {
  /** Undefined where the build has no such function. */
  readonly ours: (lib: Library) => Work | undefined;
  /** Other work of the same build, timed in the same repetitions: its ratio to the case is a result. */
  readonly beside?: Readonly<Record<string, (lib: Library) => Work | undefined>>;
  readonly roof?: {
    readonly kind: RoofKind;
    readonly bytes: number;
    readonly run: (roof: Roof, threads: number) => void;
  };
  readonly task?: PeerTask;
}

export interface Case {
  readonly kernel: string;
  readonly op: string;
  readonly dtype: string;
  readonly rowKind: string;
  readonly shape: Shape;
  readonly threads: number;
  readonly least?: { readonly bytes: number; readonly formula: string };
  /** Among the few that `--quick` runs. */
  readonly quick?: boolean;
  /** Run at the lower instruction sets too. */
  readonly levels?: boolean;
  readonly prepare: () => Subject;
}

export function titleOf({ op, dtype, shape, rowKind, threads }: Omit<Case, "prepare">): string {
  const words = [
    op,
    dtype,
    shape.name,
    `[${shape.sizes.join(", ")}]`,
    rowKind,
    threads === 1 ? "" : `${threads} threads`,
  ];
  return words.filter(Boolean).join(" ");
}
