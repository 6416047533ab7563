import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memshade, newFolder, startMemshade } from "./support/command-line.ts";
import { EXIT_7, LIBRARY, writeProgram } from "./support/programs.ts";

const PATIENCE_MS = 40_000;

function makePipe(path: string): void {
  rmSync(path, { force: true });
  spawnSync("mkfifo", [path]);
}

const RUN_FILES = [
  "run.json",
  "measured.json",
  "heap.memprofraw",
  "heapintervals.json",
  "waste.json",
  "workingset.json",
];

const CASES: [args: string[], pipe: string][] = [
  [["run", "--out", "new", "pipe"], "pipe"],
  [["run", "--out", "new", "--tool", "waste", "--learn", "pipe", "seven.wasm"], "pipe"],
  [["run", "--out", "run", "seven.wasm"], "run/run.json"],
  [["instrument", "pipe", "-o", "out.wasm"], "pipe"],
  [["node", "--out", "new", "pipe"], "pipe"],
  [["node", "--out", "new", "glue.js"], "pipe.js"],
  ...["report", "top"].map((verb): [string[], string] => [[verb, "pipe"], "pipe"]),
  ...RUN_FILES.map((name): [string[], string] => [["report", "run"], `run/${name}`]),
  [["report", "run"], "seven.wasm"],
  [["report", "run"], "seven.wasm.map"],
  [["top", "run", "--by", "dead"], "run/waste.json"],
  [["diff", "run", "pipe"], "pipe"],
  [["merge", "pipe", "-o", "out"], "pipe"],
  [["merge", "@pipe", "-o", "out"], "pipe"],
  [["merge", "run", "-o", "out"], "run/run.json"],
  [["show", "pipe"], "pipe"],
  [["show", "run/heap.memprofraw", "--binary", "pipe"], "pipe"],
  [["report", "run", "--binary-path", "pipe"], "pipe"],
  [["unwind", "pipe"], "pipe"],
  [["symbolize", "--obj=pipe", "0x10"], "pipe"],
  [["waste-print", "pipe"], "pipe"],
];

/** Replaces a file by a link to itself. */
function makeCircle(path: string): void {
  rmSync(path, { force: true });
  symlinkSync(path, path);
}

describe.skipIf(process.platform === "win32")("in the place of any file", () => {
  it.each([
    ["a pipe without a writer keeps no command waiting", makePipe],
    ["a link that leads to itself is named in one line", makeCircle],
  ])(
    "%s",
    async (_, makeOdd) => {
      const home = newFolder();
      const path = writeProgram(home, "seven.wasm", EXIT_7);
      const link = new TextEncoder().encode("\x10sourceMappingURL\x0eseven.wasm.map");
      writeFileSync(path, Buffer.concat([readFileSync(path), Uint8Array.of(0, link.length), link]));
      writeProgram(home, "library.wasm", LIBRARY);
      writeFileSync(
        join(home, "glue.js"),
        `const source = "new WebAssembly.Module(require('node:fs').readFileSync('library.wasm'))";
       require("node:vm").runInThisContext("(require) => " + source, { filename: process.cwd() + "/pipe.js" })(require);`,
      );
      await memshade(["run", "--tool", "heap,waste,workingset", "--out", "run", "seven.wasm"], { cwd: home });
      const hanging: string[] = [];
      for (const [args, pipe] of CASES) {
        const cwd = newFolder();
        cpSync(home, cwd, { recursive: true });
        makeOdd(join(cwd, pipe));
        const started = startMemshade(args, { cwd, input: "" });
        const timer = setTimeout(() => {
          hanging.push(`${args.join(" ")} (${pipe})`);
          started.child.kill("SIGKILL");
        }, PATIENCE_MS);
        const { stderr } = await started.ended;
        clearTimeout(timer);
        expect(stderr).not.toMatch(/internal error|^ +at |E[A-Z]{3,}:/m);
      }
      expect(hanging).toEqual([]);
    },
    600_000,
  );
});
