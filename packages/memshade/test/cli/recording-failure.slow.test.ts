import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memshade, newFolder, type Outcome, runFolders } from "./support/command-line.ts";
import { LIBRARY, writeProgram } from "./support/programs.ts";

/** Runs a program whose recording thread starts with changed `url` and `options`. */
async function run(change: string, rest = ""): Promise<Outcome & { runs: string[] }> {
  const cwd = newFolder();
  writeProgram(cwd, "library.wasm", LIBRARY);
  writeFileSync(
    join(cwd, "change.cjs"),
    `const threads = require("node:worker_threads");
    threads.Worker = class extends threads.Worker {
      constructor(url, options) {
        if (options.name === "memshade") { ${change} }
        super(url, options);
      }
    };`,
  );
  writeFileSync(
    join(cwd, "main.cjs"),
    `const library = new WebAssembly.Module(require("node:fs").readFileSync("library.wasm"));
    const { exports: wasm } = new WebAssembly.Instance(library, { host: { notify() {} } });
    wasm.fill(3);
    console.log("ran");
    ${rest}`,
  );
  const outcome = await memshade(["node", "--node-arg=--require=./change.cjs", "main.cjs"], { cwd });
  return { ...outcome, runs: runFolders(cwd) };
}

const FAILS_AT_START = `
  const { settings } = options.workerData;
  options.workerData = { ...options.workerData, settings: { ...settings, tools: null } };`;

/** Fills the thread's memory when the profile is requested. */
const RUNS_OUT_OF_MEMORY = `
  const start = JSON.stringify(String(url));
  url = "import(" + start + ").then(() => require('node:worker_threads').parentPort.on('message', ({ kind }) => {" +
    "if (kind === 'finish') for (const all = []; ; ) all.push(new Array(10000).fill(0));" +
  "}))";
  options = { ...options, eval: true, resourceLimits: { maxOldGenerationSizeMb: 32 } };`;

const FAILED = "memshade: the recording thread has failed: nothing is written. ";

describe("a recording thread that fails", () => {
  it.each([
    ["before the program is over", "setTimeout(() => {}, 1000);"],
    ["while the program ends", ""],
    ["while a signal ends the program", 'process.kill(process.pid, "SIGTERM");'],
  ])("at its start, %s, is told with its reason and by the exit code", async (_, rest) => {
    const { stdout, stderr, code, runs } = await run(FAILS_AT_START, rest);
    expect(stdout).toBe("ran\n");
    expect(stderr).toMatch(/^memshade: the recording thread failed: TypeError: /);
    // The starting process must not repeat or contradict the message of the recorded process.
    expect(stderr.slice(stderr.lastIndexOf("memshade: "))).toMatch(FAILED);
    expect(stderr.split("memshade: ").length - 1).toBe(2);
    expect(code).toBe(74);
    expect(runs).toEqual([]);
  });

  it.each(["", 'process.kill(process.pid, "SIGTERM");'])(
    "for want of memory does not let the program wait for ever: %j",
    async (rest) => {
      const { stdout, stderr, code, runs } = await run(RUNS_OUT_OF_MEMORY, rest);
      expect(stdout).toBe("ran\n");
      expect(stderr).toMatch(FAILED);
      expect(stderr).toContain("--node-arg=--max-old-space-size=MIB");
      expect(stderr.split("memshade: ").length - 1).toBe(1);
      expect(code).toBe(74);
      expect(runs).toEqual([]);
    },
  );
});
