import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PlanBlock } from "../../../../src/record/native/rewrite/plan.ts";
import { rewriteFile } from "../../../../src/record/native/rewrite/rewrite-file.ts";
import { canCompile, compileProgram } from "../support/record.ts";
import { poison } from "./support/poison.ts";

const folder = mkdtempSync(join(tmpdir(), "memshade-rewrite-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Rewrites the program and its libraries except the dynamic linker into a folder of their own. */
function rewriteAll(program: string, plan: PlanBlock, name: string): string {
  const into = join(folder, `${basename(program)} ${name}`);
  mkdirSync(into);
  const { stdout } = spawnSync("ldd", [program], { encoding: "utf8" });
  const libraries = [...stdout.matchAll(/(\S+) => (\/\S+)/g)].map(([, as, path]) => ({ as, path }));
  for (const { as, path } of [{ as: basename(program), path: realpathSync(program) }, ...libraries])
    writeFileSync(join(into, as), rewritten(path, plan, name), { mode: 0o755 });
  return into;
}

const known = new Map<string, Uint8Array>();
function rewritten(path: string, plan: PlanBlock, name: string): Uint8Array {
  const key = `${path} ${name}`;
  const bytes = known.get(key) ?? rewriteFile(readFileSync(path), plan).bytes;
  known.set(key, bytes);
  return bytes;
}

function outcome(program: string, args: readonly string[], libraries = ""): unknown {
  const env = { LC_ALL: "C", ...(libraries === "" ? {} : { LD_LIBRARY_PATH: libraries }) };
  const { status, signal, stdout } = spawnSync(program, args, { env, timeout: 20_000, encoding: "utf8" });
  return { status, signal, stdout };
}

const PERL =
  "my %h; $h{$_ % 97} .= chr(65 + $_ % 26) for 1..20000; print map { length($h{$_}) } sort keys %h; exit 3";
const PLAIN = "as they are";
const POISON = "with all overwritten that is not live";
const CONTROL_FLOW = join(folder, "control-flow");
const RETURNS = join(folder, "own-returns");
const THUNKS = join(folder, "own-returns-by-thunks");
const BY_THUNKS = ["-mindirect-branch=thunk", "-mfunction-return=thunk", "-fcf-protection=none"];
const CASES: readonly [string, string, readonly string[]][] = [
  ["/usr/bin/sort", POISON, ["-n", "-r", join(import.meta.dirname, "real-programs.slow.test.ts")]],
  ["/usr/bin/perl", POISON, ["-e", PERL]],
  [CONTROL_FLOW, PLAIN, []],
  [CONTROL_FLOW, POISON, []],
  [RETURNS, POISON, []],
  [THUNKS, POISON, []],
];

describe.skipIf(!canCompile)("programs and their libraries behave as they do when they are", () => {
  beforeAll(() => {
    compileProgram("control-flow.cpp", CONTROL_FLOW, ["-O2", "-pthread", "-lstdc++"]);
    compileProgram("own-returns.c", RETURNS, ["-O2"]);
    compileProgram("own-returns.c", THUNKS, ["-O2", ...BY_THUNKS]);
  });

  for (const [program, name, args] of CASES)
    it(`rewritten ${name}: ${basename(program)}`, ({ skip }) => {
      if (!existsSync(program)) {
        console.warn(`SKIPPED: ${program} is not installed`);
        skip();
      }
      const into = rewriteAll(program, name === PLAIN ? () => [] : poison(1), name);
      expect(outcome(join(into, basename(program)), args, into)).toEqual(outcome(program, args));
    });
});
