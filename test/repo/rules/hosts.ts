// A file of this repository makes sense on any machine: it names no package registry, no place on
// the disk of the machine it was written on, and nothing that only its writer could look up.

const NODE_MODULES_HOST = /"resolved":\s*"(?!file:)/;

const RULES: readonly (readonly [what: string, pattern: RegExp])[] = [
  ["a package registry", /\bregistry\.[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:org|com|net|io|dev|internal|local)\b/i],
  [
    "a package mirror",
    /https?:\/\/[^\s"'/]+\/(?:[^\s"']*\/)?(?:api\/npm|repository\/npm|artifactory|nexus|verdaccio)\b/i,
  ],
  ["a registry setting", /^\s*(?:@[\w-]+:)?registry\s*=/m],
  ["an address of a private network", /\bhttps?:\/\/(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d/],
  ["a home folder", /(?:^|[\s"'`(=:])\/(?:root|home\/[a-z][\w-]*|Users\/[A-Za-z][\w-]*)\//m],
  ["a working folder", /(?:^|[\s"'`(=:])\/(?:work|workspace|workspaces|repo|repos)\//m],
  ["a folder outside the repository", /\.\.\/shared\b|\bshared\/(?:notes|spec|style|golden|prototypes|design)\b/],
  ["a numbered ticket", /\b(?:issue|ticket)s?\s+#?\d+\b|\bissues show\b/i],
  ["a co-author line", /^\s*co-authored-by:/im],
];

/** A file that states these rules has to spell what it forbids. */
const STATES_THE_RULES = ["test/repo/rules/hosts.ts", "test/repo/host-names.test.ts"];

export function outsideNames(path: string, text: string): string[] {
  if (STATES_THE_RULES.includes(path)) return [];
  const complaints: string[] = [];
  for (const [what, pattern] of RULES) {
    const match = pattern.exec(text);
    if (match) complaints.push(`${path}: names ${what}: ${match[0].trim().slice(0, 60)}`);
  }
  if (path.endsWith("package-lock.json") && NODE_MODULES_HOST.test(text)) {
    complaints.push(`${path}: says where packages come from; .npmrc tells npm not to`);
  }
  return complaints;
}
