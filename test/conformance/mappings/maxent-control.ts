// MaxEnt-GRPO's controllers: a golden case is a list of calls on one object, the outputs are its state after each.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  applyMaxentController,
  type ForeignSettings,
  loadControllers,
  maxentController,
  type MaxentController,
  maxentEntropyTarget,
  maxentSettings,
  maxentTauRate,
  maxentTemperature,
  type MetaController,
  saveControllers,
  serializeControllers,
  SurprisalError,
  updateMaxentBeta,
  updateMaxentMeta,
  updateMaxentTau,
} from "surprisal";
import type { GoldenCase } from "../golden";
import type { Inputs } from "../inputs";
import type { Mapping, Outputs } from "../mapping";

const KINDS = { weights: "maxent" } as const;

function replacements(table: Readonly<Record<string, string>>) {
  return ({ name }: GoldenCase): string | undefined => table[name.replace(/^quirk\//, "")];
}

const exactLimit = "a temperature of 0 is the limit: the best share the weight; updates keep tau at 1e-8 or above";
const refused = "negative, infinite and NaN coefficients are refused";
const separate =
  'κ is `maxentTemperature` with mode "tau", or "one" where train_grpo_objective is set; it is not stored';

const known = (inputs: Inputs, name: string): number | null => (inputs.has(name) ? inputs.number(name) : null);

/** κ as all controllers have it: the stored one is not read. */
function denominator(inputs: Inputs, { tau, beta }: MaxentController): number {
  return maxentTemperature(tau, beta, inputs.boolean("train_grpo_objective") ? "one" : "tau");
}

/** Without its average where that is not finite. */
function startOf(inputs: Inputs): MaxentController {
  const average = known(inputs, "tau_entropy_ema");
  return maxentController({
    tau: inputs.number("tau"),
    beta: inputs.number("beta"),
    logTau: known(inputs, "tau_log"),
    entropyAverage: Number.isFinite(average) ? average : null,
  });
}

const boundsOf = (inputs: Inputs): { min: number; max?: number } => {
  const max = inputs.number("tau_max");
  return { min: inputs.number("tau_min"), ...(max > 0 && { max }) };
};

/** Our names of the settings; null where only the file has them. */
const META: readonly (readonly [theirs: string, ours: keyof MetaController | null])[] = [
  ["enabled", "enabled"],
  ["method", "method"],
  ["learning_rate", "learningRate"],
  ["tau_learning_rate", "tauLearningRate"],
  ["beta_learning_rate", "betaLearningRate"],
  ["beta_grad_clip", "betaGradientClip"],
  ["update_interval", "updateInterval"],
  ["objective", null],
  ["analytic_steps", null],
  ["optimizer", null],
  ["truncation_steps", null],
  ["use_hessian", null],
  ["last_tau_grad", "lastTauGradient"],
  ["last_beta_grad", "lastBetaGradient"],
];

/** The settings of a state, as the file of the source has them. */
function metaOutputs(state: MaxentController, prefix: string): Outputs {
  const file = JSON.parse(serializeControllers(KINDS, { weights: state }, { preset: "maxent" })) as SavedFile;
  return Object.fromEntries(META.map(([theirs]) => [prefix + theirs, file.meta.controller[theirs]]));
}

interface SavedFile {
  readonly meta: { readonly version: number; readonly controller: Readonly<Record<string, unknown>> };
}

/** What is in the file that saveControllers writes, and its text. */
function savedOf(inputs: Inputs): { readonly text: string; readonly outputs: Outputs } {
  const meta = Object.fromEntries(
    META.flatMap(([theirs, ours]) => (ours === null ? [] : [[ours, inputs.value(`meta_${theirs}`)]])),
  ) as unknown as MetaController;
  const foreign = Object.fromEntries(
    META.flatMap(([theirs, ours]) => (ours === null ? [[theirs, inputs.value(`meta_${theirs}`)]] : [])),
  ) as ForeignSettings;
  // As a literal: the layout of the source takes coefficients that maxentController refuses.
  const weights = {
    tau: inputs.number("tau"),
    beta: inputs.number("beta"),
    logTau: known(inputs, "tau_log"),
    entropyAverage: known(inputs, "tau_entropy_ema"),
    meta,
    foreign,
  };
  const text = inFolder((path) => {
    saveControllers(path, KINDS, { weights }, { preset: "maxent" });
    return readFileSync(path, "utf8");
  });
  const { meta: written, ...numbers } = JSON.parse(text) as Record<string, unknown> & SavedFile;
  const controller = Object.entries(written.controller).map(([name, value]) => [`meta_${name}`, value]);
  return {
    text,
    outputs: { ...numbers, meta_version: written.version, ...(Object.fromEntries(controller) as Outputs) },
  };
}

function inFolder<T>(run: (path: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "surprisal-"));
  try {
    return run(join(folder, "controller_state.json"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The state of the file; undefined where there is none, or its content is refused. */
function loaded(text: string | null): MaxentController | undefined {
  return inFolder((path) => {
    if (text !== null) writeFileSync(path, text);
    try {
      return loadControllers(path, KINDS, { preset: "maxent" })?.weights;
    } catch (error) {
      if (error instanceof SurprisalError && error.code === "ERR_SURPRISAL_FILE") return undefined;
      throw error;
    }
  });
}

const FIELDS: Readonly<Record<string, string>> = {
  denom: "temperature",
  len_norm_ref: "lengthNormalize",
  q_temperature: "distribution.temperature",
  q_epsilon: "distribution.floor",
  tau_target_entropy: "tauUpdate.target",
  tau_lr: "tauUpdate.learningRate",
  tau_min: "tauUpdate.min",
  tau_max: "tauUpdate.max",
  tau_warmup_steps: "tauUpdate.warmupSteps",
  kl_target: "betaUpdate.target",
  kl_horizon: "betaUpdate.horizon",
  kl_ctl_step_size: "betaUpdate.stepSize",
  tau: "tau",
  beta: "beta",
};

function settingsOf(inputs: Inputs) {
  const flat: Record<string, unknown> = {
    tau: inputs.number("tau"),
    beta: inputs.number("beta"),
    temperature: inputs.number("normalization_denom"),
    lengthNormalize: inputs.boolean("normalization_len_norm_ref"),
    "distribution.temperature": inputs.number("q_distribution_temperature"),
    "distribution.floor": inputs.number("q_distribution_epsilon"),
    "tauUpdate.target": inputs.value("tau_schedule_target_entropy"),
    "tauUpdate.learningRate": inputs.number("tau_schedule_learning_rate"),
    "tauUpdate.min": inputs.number("tau_schedule_minimum_value"),
    "tauUpdate.max": inputs.number("tau_schedule_maximum_value"),
    "tauUpdate.warmupSteps": inputs.number("tau_schedule_warmup_steps"),
    "betaUpdate.target": inputs.number("kl_controller_target"),
    "betaUpdate.horizon": inputs.number("kl_controller_horizon"),
    "betaUpdate.stepSize": inputs.number("kl_controller_step_size"),
  };
  for (const [, name, value] of inputs.list("operations") as unknown as readonly (readonly [string, string, unknown])[])
    flat[FIELDS[name]!] = value;
  const part = (prefix: string): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(flat).flatMap(([name, value]) =>
        name.startsWith(`${prefix}.`) ? [[name.slice(prefix.length + 1), value]] : [],
      ),
    );
  const { tau, beta, temperature, lengthNormalize } = flat as Record<string, never>;
  return maxentSettings({
    tau: tau!,
    beta: beta!,
    temperature: temperature!,
    lengthNormalize: lengthNormalize!,
    distribution: part("distribution"),
    tauUpdate: part("tauUpdate"),
    betaUpdate: part("betaUpdate"),
    mode: inputs.boolean("train_grpo_objective") ? "one" : "tau",
  });
}

export const maxentControl: readonly Mapping[] = [
  {
    family: "maxent",
    function: "weighting_settings",
    ours: "maxentSettings",
    differs: "settings are plain data: to change a field, pass new ones",
    skip: ({ name }) =>
      name === "active annealed target is reported"
        ? "the case does not tell which value the target was annealed from"
        : undefined,
    replacedBy: () => "the target comes from the options of each call; an older one never replaces it",
    backendFree: true,
    run: (inputs) => {
      const { controller, temperature, lengthNormalize, distribution, tauUpdate, betaUpdate, scale, uniformFallback } =
        settingsOf(inputs);
      return {
        denom: temperature,
        len_norm_ref: lengthNormalize,
        q_temperature: distribution.temperature,
        q_epsilon: distribution.floor,
        tau_target_entropy: maxentEntropyTarget(0, tauUpdate),
        tau_lr: tauUpdate.learningRate,
        tau_min: tauUpdate.min,
        tau_max: tauUpdate.max,
        tau_warmup_steps: tauUpdate.warmupSteps,
        kl_target: betaUpdate.target,
        kl_horizon: betaUpdate.horizon,
        kl_ctl_step_size: betaUpdate.stepSize,
        scale_rewards: scale === "std",
        allow_empty_weight_fallback: uniformFallback,
        // There are no tensors beside the numbers.
        controller_state_is_null: true,
        ...metaOutputs(controller, "controller_meta_"),
      };
    },
  },
  {
    family: "maxent",
    function: "maybe_update_tau",
    ours: ["updateMaxentTau", "maxentController", "maxentEntropyTarget", "maxentTauRate"],
    differs: separate,
    failures: {},
    replacedBy: replacements({
      "tau zero restarts from 1e-8": exactLimit,
      "negative tau restarts from 1e-8": refused,
      "first call without entropy seeds the average with tau": "the average begins with the first finite entropy",
      "stale log-tau overrides tau": "setting tau makes a new state with its own logarithm",
      "unbounded growth overflows": "without an upper bound tau stops at e^700",
    }),
    backendFree: true,
    run: (inputs) => {
      const target = {
        target: known(inputs, "target_entropy"),
        targetStart: known(inputs, "target_entropy_start"),
        targetFinal: known(inputs, "target_entropy_final"),
        targetHorizon: inputs.number("target_entropy_horizon"),
      };
      const rates = inputs.list("lr_scale") as readonly (number | null)[];
      const steps = inputs.numbers("global_step");
      const learningRate = inputs.number("tau_lr");
      const decay = known(inputs, "ema_decay");
      const options = {
        ...target,
        ...boundsOf(inputs),
        learningRate,
        warmupSteps: inputs.number("tau_warmup_steps"),
        ...(decay !== null && { decay }),
      };
      let state = startOf(inputs);
      const measured = inputs.value("measured_entropy");
      const entropies = (Array.isArray(measured) ? measured : inputs.numbers("measured_entropy")) as readonly (
        | number
        | null
      )[];
      const states = entropies.map(
        (entropy, i) =>
          (state = updateMaxentTau(state, { entropy, step: steps[i]! }, { ...options, rateScale: rates[i]! })),
      );
      return {
        tau: states.map(({ tau }) => tau),
        denom: states.map((one) => denominator(inputs, one)),
        tau_log: states.map(({ logTau }) => logTau),
        tau_entropy_ema: states.map(({ entropyAverage }) => entropyAverage),
        active_target: steps.map((step) => maxentEntropyTarget(step, target)),
        tau_lr_effective: rates.map((rateScale) => maxentTauRate({ learningRate, rateScale })),
      };
    },
  },
  {
    family: "maxent",
    function: "maybe_update_beta",
    ours: ["updateMaxentBeta", "maxentController"],
    differs: separate,
    replacedBy: replacements({
      "negative beta becomes zero": refused,
      "no error leaves a stale denominator": "κ is computed from tau and beta, not stored",
      "tau zero sets the denominator to one": exactLimit,
    }),
    backendFree: true,
    run: (inputs) => {
      const options = {
        target: inputs.number("kl_target"),
        horizon: inputs.number("kl_horizon"),
        stepSize: inputs.number("kl_ctl_step_size"),
      };
      let state = maxentController({ tau: inputs.number("tau"), beta: inputs.number("beta") });
      const measured = inputs.value("measured_kl");
      const kls = (Array.isArray(measured) ? measured : inputs.numbers("measured_kl")) as readonly (number | null)[];
      const states = kls.map((kl) => (state = updateMaxentBeta(state, { kl }, options)));
      return { beta: states.map(({ beta }) => beta), denom: states.map((one) => denominator(inputs, one)) };
    },
  },
  {
    family: "maxent",
    function: "apply_meta_controller_update",
    ours: ["updateMaxentMeta", "maxentController"],
    options: 'preset "maxent"',
    differs: separate,
    replacedBy: replacements({
      "tau reaching zero sets the denominator to one": exactLimit,
      "negative beta gradient clip switches clipping off": "a negative clip is refused; 0 switches it off",
    }),
    backendFree: true,
    run: (inputs) => {
      const gradients = (name: string) => inputs.list(name) as readonly (number | null)[];
      const beta = gradients("beta_grad");
      const meta = {
        enabled: inputs.boolean("enabled"),
        method: inputs.string("method"),
        learningRate: inputs.number("learning_rate"),
        tauLearningRate: inputs.number("tau_learning_rate"),
        betaLearningRate: inputs.number("beta_learning_rate"),
        betaGradientClip: inputs.number("beta_grad_clip"),
      };
      let state = maxentController({ tau: inputs.number("tau"), beta: inputs.number("beta"), meta });
      const updated: boolean[] = [];
      const states = gradients("tau_grad").map((tau, i) => {
        const next = updateMaxentMeta(
          state,
          { tau, beta: beta[i]! },
          { preset: "maxent", ...boundsOf(inputs), rateScale: inputs.number("lr_scale") },
        );
        updated.push(next !== state);
        return (state = next);
      });
      return {
        updated,
        tau: states.map(({ tau }) => tau),
        beta: states.map((one) => one.beta),
        denom: states.map((one) => denominator(inputs, one)),
        tau_log: states.map(({ logTau }) => logTau),
        tau_projected: states.map((one) => one.meta.tauProjected),
        beta_projected: states.map((one) => one.meta.betaProjected),
        last_tau_grad: states.map((one) => one.meta.lastTauGradient),
        last_beta_grad: states.map((one) => one.meta.lastBetaGradient),
      };
    },
  },
  {
    family: "maxent",
    function: "controller_state_dict",
    ours: "saveControllers",
    options: 'preset "maxent"',
    replacedBy: () => "coefficients that are not finite are refused",
    backendFree: true,
    run: (inputs) => savedOf(inputs).outputs,
  },
  {
    family: "maxent",
    function: "save_controller_state",
    ours: "saveControllers",
    options: 'preset "maxent"',
    replacedBy: () => "coefficients that are not finite are refused: the file is always JSON",
    backendFree: true,
    run: (inputs) => {
      const { text, outputs } = savedOf(inputs);
      // JSON.parse has read it; the order of the keys is that of the text.
      return { ...outputs, is_strict_json: true, top_level_keys: Object.keys(JSON.parse(text) as object) };
    },
  },
  {
    family: "maxent",
    function: "load_controller_state",
    ours: "loadControllers",
    options: 'preset "maxent"',
    differs: `a file that is refused is an error; ${separate}`,
    replacedBy: replacements({
      "denominator becomes tau plus beta": "κ is one rule everywhere, that of the mode",
      "tau outside its bounds is not clamped": "`boundMaxentTau`, or the next update, brings tau within its bounds",
      "negative tau accepted": refused,
      "zero sum sets the denominator to one": exactLimit,
      "booleans count as numbers": "coefficients that are no numbers are refused",
      "NaN tau accepted": refused,
      "valid JSON that is not an object raises": "any other content is refused with the same error",
    }),
    backendFree: true,
    run: (inputs) => {
      const before = maxentController({ tau: inputs.number("tau"), beta: inputs.number("beta") });
      const found = loaded(inputs.value("file_text") as string | null);
      const state = found ?? before;
      return {
        loaded: found !== undefined,
        tau: state.tau,
        beta: state.beta,
        denom: denominator(inputs, state),
        tau_log: state.logTau,
        tau_entropy_ema: state.entropyAverage,
        ...metaOutputs(state, "meta_"),
      };
    },
  },
  {
    family: "maxent",
    function: "broadcast_controller_state",
    ours: ["applyMaxentController", "packMaxentController", "broadcastMaxentController"],
    differs: `four float64 numbers over any transport; a transport that fails is an error; ${separate}`,
    replacedBy: replacements({
      "tau zero sets the denominator to one": exactLimit,
      "failed object list reports success": "a failure is an error",
      "gather rounds to float32": "numbers are sent as float64",
    }),
    backendFree: true,
    run: (inputs) => {
      const before = startOf(inputs);
      const sent = Float64Array.from(inputs.floats("source_payload"));
      const arrivals: Readonly<Record<string, unknown>> = {
        none: undefined,
        gather_bad: "something else",
        gather_short: sent.subarray(0, 3),
      };
      const transport = inputs.string("transport");
      const outputs = (state: MaxentController, ok: boolean): Outputs => ({
        ok,
        tau: state.tau,
        beta: state.beta,
        denom: denominator(inputs, state),
        tau_log: state.logTau,
        tau_entropy_ema: state.entropyAverage,
      });
      try {
        return outputs(
          applyMaxentController(before, (transport in arrivals ? arrivals[transport] : sent) as Float64Array),
          true,
        );
      } catch (error) {
        if (error instanceof SurprisalError && ["ERR_SURPRISAL_DTYPE", "ERR_SURPRISAL_SHAPE"].includes(error.code))
          return outputs(before, false);
        throw error;
      }
    },
  },
];
