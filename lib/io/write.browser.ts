// write.ts in a browser: refused.
import { notInBrowser } from "./not-in-browser";

export const writeRollouts = (): Promise<never> => Promise.reject(notInBrowser("writeRollouts", "writing files"));
