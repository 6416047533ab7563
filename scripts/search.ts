// Searches random modules for ones that behave differently when they are rewritten, for a number of minutes, from a random seed.
// Usage: `npm run search -- 30`, or with a first seed: `npm run search -- 30 12345`.
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { packageFile, ROOT } from "./tools.ts";

const SEARCHES = [
  "test/record/tools/random-modules.long.test.ts",
  "test/record/rewrite/translate-to-fuzz.long.test.ts",
  "test/record/contexts/entered-modules.long.test.ts",
];

const [minutes = "10", seed = String(randomInt(2 ** 30))] = process.argv.slice(2);
if (!(Number(minutes) > 0 && Number.isInteger(Number(seed)))) {
  console.error("usage: npm run search -- [minutes] [first seed]");
  process.exit(2);
}
console.log(`first seed: ${seed}`);
const { status } = spawnSync(
  process.execPath,
  [packageFile("vitest/vitest.mjs"), "run", "--root", "packages/memshade", ...SEARCHES],
  { cwd: ROOT, stdio: "inherit", env: { ...process.env, MEMSHADE_MINUTES: minutes, MEMSHADE_SEED: seed } },
);
process.exitCode = status ?? 1;
