// The choices in which MaxEnt-GRPO's controllers and their files differ from the defaults.

export interface MetaUpdateConventions {
  /** A method that is not known: refused, or nothing moves. Default `"refuse"`. */
  readonly unknownMethod?: "refuse" | "ignore";
}

export interface LoadControllersConventions {
  /**
   * An average entropy that was never measured: stays unset, so that the first measurement starts it, or is tau. Only in files that
   * have the coefficients alone. Default `"null"`.
   */
  readonly unsetAverage?: "null" | "tau";
}

export interface SaveControllersConventions extends LoadControllersConventions {
  /**
   * `"controllers"`: any number of controllers, each with its kind and version. `"coefficients"`: one controller of kind
   * `"maxent"`, as { beta, tau, tau_log, tau_entropy_ema, meta }. Default `"controllers"`.
   */
  readonly layout?: "controllers" | "coefficients";
  /** A negative tau or beta: refused, or written as it is (layout `"coefficients"` alone). Default `"refuse"`. */
  readonly negative?: "refuse" | "keep";
}
