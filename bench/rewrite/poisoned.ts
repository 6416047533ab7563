/**
 * Whether programs do the same when they are rewritten and everything is overwritten that nothing reads any more, in front of every
 * n-th instruction: output, exit code and signal are compared. The programs are those of `native/programs.ts` and `more-programs.ts`. Ends with 1 when
 * one differs. Linux on x86-64 with glibc; needs `unshare` and `mount`.
 *
 *     node bench/rewrite/poisoned.ts [--every 3] [PROGRAM]…
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { poison } from "../../packages/memshade/test/native/rewrite/support/poison.ts";
import { PROGRAMS } from "../native/programs.ts";
import { MORE_PROGRAMS } from "./more-programs.ts";
import { inPlaceOf } from "./namespace.ts";
import { filesOf, RewrittenFiles } from "./rewritten-files.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { every: { type: "string", default: "3" } },
});
const all = [...PROGRAMS, ...MORE_PROGRAMS];
const unknown = positionals.filter((name) => !all.some((one) => one.name === name));
if (unknown.length > 0 || !(Number(values.every) >= 1)) {
  console.error(`Use: poisoned.ts [--every N] [${all.map(({ name }) => name).join(" | ")}]…`);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), "rewrite-poisoned-"));
const poisoned = new RewrittenFiles(join(folder, "poisoned"), poison(Number(values.every)));

function outcome(command: readonly string[], input: string | undefined) {
  const options = { input: input ?? "", cwd: folder, maxBuffer: 1 << 29, timeout: 120_000 };
  const { status, signal, stdout } = spawnSync(command[0], command.slice(1), options);
  return { ends: `${signal ?? status}`, stdout };
}

let different = 0;
try {
  for (const { name, package: packageName, command: commandIn, input } of all) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    const command = commandIn(folder);
    if (command === undefined) {
      console.error(`poisoned: ${name} is SKIPPED, not installed (${packageName})`);
      continue;
    }
    const plain = outcome(command, input);
    if (outcome(command, input).stdout.compare(plain.stdout) !== 0) {
      console.log(`${name}: its output is another one each time`);
      continue;
    }
    const files = poisoned.replacements(filesOf(command, folder, input));
    const rewritten = outcome([...inPlaceOf(files), ...command], input);
    // A shell says by its exit code which signal ended what it started.
    const isSame = rewritten.ends === plain.ends && rewritten.stdout.equals(plain.stdout);
    if (!isSame) different++;
    const said = isSame ? "the same" : `DIFFERENT: ${rewritten.ends}, ${rewritten.stdout.length} bytes`;
    const megabytes = files.reduce((sum, one) => sum + one.rewritten.oldText, 0) / 1e6;
    console.log(
      `${name}: ${said} (${plain.ends}, ${plain.stdout.length} bytes; ${megabytes.toFixed(1)} MB of code in ${files.length} files)`,
    );
  }
} finally {
  rmSync(folder, { recursive: true });
}
if (different > 0) process.exit(1);
