// tensors.ts in a browser: refused.
import { notInBrowser } from "./not-in-browser";

export const readTensors = (): Promise<never> => Promise.reject(notInBrowser("readTensors", "reading tensors"));
export const writeTensors = (): Promise<never> => Promise.reject(notInBrowser("writeTensors", "writing files"));
