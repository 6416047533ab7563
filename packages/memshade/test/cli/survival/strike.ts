import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadHeap } from "../../../src/runs/heap.ts";
import { settleRun } from "../../../src/runs/run-of-folder.ts";
import {
  newFolder,
  type Outcome,
  readRun,
  type Started,
  type StartOptions,
} from "../support/command-line.ts";
import { LIBRARY, manySites, wasiProgram, writeProgram } from "../support/programs.ts";

/** Starts memshade from the sources or from the built files. */
export type Start = (args: readonly string[], options: StartOptions) => Started;

export interface Blow {
  program: "wasi" | "wasi-busy" | "node" | "node-busy" | "node-script";
  /** Event before the first signal: the start of memshade, of the program, or of writing the profile. */
  moment: "start" | "program" | "writing";
  delayMs: number;
  target: "memshade" | "child" | "all";
  signals: { name: "SIGINT" | "SIGTERM" | "SIGKILL"; gapMs: number }[];
  hasEarlierRun: boolean;
}

/** With this number of sites, writing the profile takes a moment. */
const SITES = 3000;

export function survivalPrograms(): string {
  const home = newFolder();
  const sites = manySites(SITES).replace(
    '(func (export "_start")',
    '(func (export "_start") (call $say_ready)',
  );
  writeProgram(home, "wasi.wasm", sites);
  writeProgram(home, "wasi-busy.wasm", sites.replace(/\)\)$/, " (loop $for_good (br $for_good))))"));
  writeProgram(home, "small.wasm", wasiProgram("(call $leak (i32.const 16))"));
  const library = LIBRARY.replace(
    '(func (export "spin")',
    `(func (export "sites") ${"(call $free (call $malloc (i32.const 32)))".repeat(SITES)}) (func (export "spin")`,
  );
  writeProgram(home, "library.wasm", library);
  const script = (end: string) => `
    const { readFileSync, writeSync } = require("node:fs");
    const compiled = new WebAssembly.Module(readFileSync(${JSON.stringify(join(home, "library.wasm"))}));
    const { exports: wasm } = new WebAssembly.Instance(compiled, { host: { notify() {} } });
    writeSync(1, "ready\\n");
    wasm.sites();
    ${end}`;
  writeFileSync(join(home, "node.cjs"), script(""));
  writeFileSync(join(home, "node-busy.cjs"), script("wasm.spin();"));
  writeFileSync(
    join(home, "node-script.cjs"),
    'require("node:fs").writeSync(1, "ready\\n"); for (const end = Date.now() + 5e3; Date.now() < end; );',
  );
  return home;
}

/** Sends the signals to a run. Returns the faults of the remaining files as sentences; none if all is well. */
export async function strike(start: Start, programs: string, blow: Blow): Promise<string[]> {
  const cwd = newFolder();
  const temporary = join(cwd, "tmp");
  mkdirSync(temporary);
  const options = { cwd, env: { TMPDIR: temporary }, input: "" };
  if (blow.hasEarlierRun)
    await start(["run", "--out", "runs/here", join(programs, "small.wasm")], options).ended;
  const isWasi = blow.program.startsWith("wasi");
  const file = join(programs, `${blow.program}.${isWasi ? "wasm" : "cjs"}`);
  const started = start([isWasi ? "run" : "node", "--out", "runs/here", file], options);
  let hasEnded = false;
  void started.ended.then(() => {
    hasEnded = true;
  });
  const cli = started.child.pid!;
  const isWriting = () => existsSync(join(cwd, "runs", ".here.partial", "new"));
  const reached = () =>
    blow.moment === "start" ||
    (blow.moment === "program" && started.stdout.includes("ready")) ||
    (blow.moment === "writing" && isWriting());
  // A program that never ends by itself never begins to write.
  if (blow.moment === "writing" && /busy|script/.test(blow.program)) {
    while (!hasEnded && !started.stdout.includes("ready")) await pause(1);
    send(cli, "SIGTERM");
  }
  while (!hasEnded && !reached()) await pause(blow.moment === "writing" ? 0 : 1);
  await pause(blow.delayMs);
  const wasReady = started.stdout.includes("ready");
  let isCliKilled = false;
  for (const { name, gapMs } of blow.signals) {
    const targets = blow.target === "child" ? membersOf(cli).filter((pid) => pid !== cli) : [cli];
    for (const pid of blow.target === "all" ? membersOf(cli) : targets) send(pid, name);
    isCliKilled ||= name === "SIGKILL" && blow.target !== "child";
    await pause(gapMs);
  }
  // A program that is still running now must be ended by a signal.
  if (!hasEnded && /busy|script/.test(blow.program)) send(cli, "SIGTERM");
  const outcome = await started.ended;
  const wrong: string[] = [];
  for (let turns = 0; membersOf(cli).length > 0; turns++) {
    if (turns === 500) {
      wrong.push(`processes are left: ${membersOf(cli)}`);
      break;
    }
    await pause(10);
  }
  // A process that is signalled at its very start has recorded nothing.
  if (/SyntaxError|ReferenceError|TypeError/.test(outcome.stderr))
    wrong.push("the program of the test is wrong");
  // Commands that read a run, such as report, first finish a replacement that was interrupted between two steps.
  await settleRun(join(cwd, "runs", "here"));
  const mustSay = wasReady && blow.program !== "node-script" && !isCliKilled;
  wrong.push(...(await faultsOf(join(cwd, "runs", "here"), outcome, mustSay, blow)));
  await start(["run", "--out", "runs/next", join(programs, "small.wasm")], options).ended;
  for (const folder of [join(cwd, "runs"), temporary]) {
    const left = readdirSync(folder).filter((name) => !["here", "next", "node-compile-cache"].includes(name));
    if (left.length > 0) wrong.push(`the next run leaves ${left}`);
  }
  wrong.push(...(await faultsOf(join(cwd, "runs", "here"), outcome, mustSay, blow)));
  return wrong.map(
    (sentence) =>
      `${sentence}; ${JSON.stringify({ code: outcome.code, signal: outcome.signal, stderr: outcome.stderr })}`,
  );
}

/** Contradictions between the folder, the messages about it, and its earlier content. */
async function faultsOf(
  folder: string,
  { stderr }: Outcome,
  mustSay: boolean,
  blow: Blow,
): Promise<string[]> {
  const saysWritten = stderr.includes("profile written to");
  const saysLost = /not written|nothing is saved|nothing was written|cannot write/.test(stderr);
  const wrong: string[] = [];
  if (saysWritten && saysLost) wrong.push("it says both");
  if (!existsSync(folder)) {
    if (blow.hasEarlierRun) wrong.push("the earlier run is gone");
    if (saysWritten) wrong.push("the run is not there");
    if (mustSay && !saysLost) wrong.push("nothing is written, and nothing is said");
    return wrong;
  }
  try {
    await loadHeap(folder);
    const { program, heap } = readRun(folder);
    const isEarlier = program === "small";
    if (isEarlier && saysWritten) wrong.push("it is the earlier run");
    if (!isEarlier && saysLost) wrong.push("it is the new run");
    if (isEarlier && mustSay && !saysLost) wrong.push("the earlier run is there, and nothing is said");
    if (isEarlier && heap?.allocations !== 1) wrong.push("the earlier run is another one");
  } catch (error) {
    wrong.push(`it is damaged: ${(error as Error).message}`);
  }
  return wrong;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended.
  }
}

/** Processes of a group that have not ended. */
function membersOf(group: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
          .replace(/^.*\) /s, "")
          .split(" ");
        return Number(fields[2]) === group && fields[0] !== "Z" && fields[0] !== "X";
      } catch {
        return false;
      }
    });
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => (ms === 0 ? setImmediate(done) : setTimeout(done, ms)));
}
