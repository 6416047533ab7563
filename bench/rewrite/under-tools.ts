/**
 * Checks that programs of many kinds do not change under a tool that rewrites them: output, exit code and signal are compared. The programs
 * are those
 * of `native/programs.ts` and `more-programs.ts`. Exit code 1 if one differs. Linux on x86-64; needs a build.
 * node bench/rewrite/under-tools.ts [--tool heap] [PROGRAM]…
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { compareOutcomes } from "./compare-outcomes.ts";

const MEMSHADE = fileURLToPath(new URL("../../packages/memshade/bin/memshade.js", import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { tool: { type: "string", default: "heap" } },
});
const folder = mkdtempSync(join(tmpdir(), "under-tools-"));
try {
  const different = compareOutcomes(positionals, folder, ({ name }, command) => {
    const run = ["run", "--quiet", "--tool", values.tool, "--out", join(folder, `${name}.out`)];
    return { command: [process.execPath, MEMSHADE, ...run, ...command], note: "" };
  });
  if (different > 0) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
