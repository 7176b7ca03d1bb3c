// Stands in for dist/ where that is not made of lib/ as it is.
import { distFile } from "./dist";

distFile();
