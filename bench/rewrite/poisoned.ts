/**
 * Checks that rewritten programs do not change if all dead registers and flags are overwritten in front of every
 * n-th instruction: output, exit code and signal are compared. The programs are those of `native/programs.ts` and `more-programs.ts`. Exit
 * code 1 if
 * one differs. Linux on x86-64 with glibc; needs `unshare` and `mount`.
 * node bench/rewrite/poisoned.ts [--every 3] [PROGRAM]…
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { poison } from "../../packages/memshade/test/record/native/rewrite/support/poison.ts";
import { compareOutcomes } from "./compare-outcomes.ts";
import { inPlaceOf } from "./namespace.ts";
import { filesOf, RewrittenFiles } from "./rewritten-files.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { every: { type: "string", default: "3" } },
});
const folder = mkdtempSync(join(tmpdir(), "rewrite-poisoned-"));
const poisoned = new RewrittenFiles(join(folder, "poisoned"), poison(Number(values.every)));
try {
  const different = compareOutcomes(positionals, folder, ({ input }, command) => {
    const files = poisoned.replacements(filesOf(command, folder, input));
    const megabytes = files.reduce((sum, one) => sum + one.rewritten.oldText, 0) / 1e6;
    const note = `; ${megabytes.toFixed(1)} MB of code in ${files.length} files`;
    return { command: [...inPlaceOf(files), ...command], note };
  });
  if (different > 0) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
