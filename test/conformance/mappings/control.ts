// Controllers: a golden case is a list of measurements, the outputs are the states between them.
import { klController, updateKlController } from "surprisal";
import type { Inputs } from "../inputs";
import type { Mapping } from "../mapping";

interface Names {
  readonly start: string;
  readonly target: string;
  readonly kl: string;
  readonly steps: string;
}

function coefficients(inputs: Inputs, { start, target, kl, steps }: Names): number[] {
  const options = { target: inputs.number(target), horizon: inputs.number("horizon") };
  const measured = inputs.numbers(kl);
  const counts = inputs.numbers(steps);
  let state = klController(inputs.number(start));
  return measured.map(
    (value, i) => (state = updateKlController(state, { kl: value, steps: counts[i]! }, options)).coefficient,
  );
}

export const control: readonly Mapping[] = [
  {
    family: "lightrft",
    function: "adaptive_kl_controller",
    ours: ["updateKlController", "klController"],
    backendFree: true,
    run: (inputs) => ({
      coefficients: coefficients(inputs, { start: "initial", target: "target", kl: "observed_kl", steps: "steps" }),
    }),
  },
  {
    family: "openrlhf",
    function: "AdaptiveKLController",
    ours: ["updateKlController", "klController"],
    backendFree: true,
    run: (inputs) => ({
      values: coefficients(inputs, { start: "init_kl_coef", target: "target", kl: "current", steps: "n_steps" }),
    }),
  },
  {
    family: "verl",
    function: "AdaptiveKLController",
    ours: ["updateKlController", "klController"],
    backendFree: true,
    run: (inputs) => ({
      values: coefficients(inputs, { start: "init_kl_coef", target: "target_kl", kl: "current_kl", steps: "n_steps" }),
    }),
  },
];
