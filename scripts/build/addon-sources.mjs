// Prints the sources of the addon for binding.gyp: all that its folders hold, so that no list has to be kept.

import { filesBelow, shown } from "./paths.mjs";

const sources = ["native/binding", "native/cpu"].flatMap((folder) => filesBelow(folder, [".cc", ".cpp"]));
console.log(sources.map(shown).join("\n"));
