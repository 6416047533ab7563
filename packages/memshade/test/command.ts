import { globSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const NAME = "MEMSHADE_TEST_COMMAND";
const inPackage = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

export const MAIN: string = process.env[NAME] ?? inPackage("src/cli/main.ts");

/** Runs before all tests: they start the built command if no source is newer, which takes a third of the time of the sources. */
export default function setup(): void {
  const built = inPackage("dist/main.js");
  const builtAt = statSync(built, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const isNewer = (path: string): boolean => statSync(inPackage(path)).mtimeMs > builtAt;
  const isOld = globSync("src/**/*", { cwd: inPackage("") }).some(isNewer);
  process.env[NAME] = isOld ? inPackage("src/cli/main.ts") : built;
}
