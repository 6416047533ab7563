import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { rewriteFile } from "../../../../src/record/native/rewrite/rewrite-file.ts";
import { Choices } from "../../../support/random-module.ts";
import { IS_SEARCH, SEARCH_TIMEOUT, trySeeds } from "../../../support/seeds.ts";
import { poison } from "./support/poison.ts";
import { randomProgram } from "./support/random-program.ts";

const isHere = process.platform === "linux" && process.arch === "x64";
if (!isHere) console.warn("SKIPPED: rewritten programs run on Linux of x86-64 only");
const RUNS = 150;

const folder = mkdtempSync(join(tmpdir(), "memshade-rewrite-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
/** Memory, registers and flags that a program prints. */
function stateBehind(program: Uint8Array): string {
  // A file that has just run is busy for a moment.
  const path = join(folder, `program${files++}`);
  writeFileSync(path, program, { mode: 0o755 });
  const { status, signal, stdout } = spawnSync(path, { timeout: 10_000 });
  rmSync(path);
  return `${status} ${signal} ${stdout.toString("hex")}`;
}

describe.skipIf(!isHere)(
  "functions made up at random leave registers, flags and memory as they do when they are",
  () => {
    const tools = { "as they are": () => [], "with all overwritten that is not live": poison(1) };
    for (const [name, plan] of Object.entries(tools))
      it(
        `rewritten ${name}`,
        () => {
          const { first, last } = trySeeds(RUNS, (seed) => {
            const program = randomProgram(new Choices(seed));
            const plain = stateBehind(program);
            expect(plain.startsWith("0 null "), "ends").toBe(true);
            expect(stateBehind(rewriteFile(program, plan).bytes)).toBe(plain);
          });
          if (IS_SEARCH) console.log(`rewritten ${name}: seeds ${first} to ${last}`);
        },
        SEARCH_TIMEOUT,
      );
  },
);
