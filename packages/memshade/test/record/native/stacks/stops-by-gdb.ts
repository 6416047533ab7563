import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { MemoryFile } from "../../../../src/record/native/collect/memory-file.ts";
import { placeImage } from "../../../../src/record/native/image/place-image.ts";
import {
  Header,
  MODULE_BYTES,
  Module,
  Place,
  STACK_FRAME_BYTES,
  StackFrame,
  THREAD_BYTES,
  Thread,
} from "../../../../src/record/native/layout.ts";
import { checkProgram } from "../../../../src/record/native/start/check-program.ts";
import { neededObjects } from "../../../../src/record/native/start/needed-objects.ts";
import { executedProgram } from "../../../../src/record/native/start/start-program.ts";
import { WantedTables } from "../../../../src/record/native/tables/make-wanted.ts";
import { Node } from "../../../../src/record/tools/heap/layout.ts";

const SCRIPT = fileURLToPath(new URL("stops.py", import.meta.url));
const LIBRARY = fileURLToPath(new URL("stop-at.c", import.meta.url));
const WATCH_MS = 5;

export interface StoppedProgram {
  command: readonly [string, ...string[]];
  cwd?: string;
  input?: string;
  env?: Readonly<Record<string, string>>;
  /** Number of stops, and the mean number of allocations between two. */
  count: number;
  gap: number;
  seed?: number;
}

/** A frame in gdb's form: address, kind of frame, function and object. */
export type GdbFrame = readonly [pc: number, kind: number, name: string, object: string];

export interface Stop {
  gdb: readonly GdbFrame[];
  /** Return addresses of the thread's last stack, innermost first, and its `WalkEnd`. */
  recorded: readonly number[] | null;
  end: number | null;
  /** Site addresses of the block's context: the last bytes of calls. */
  context: readonly number[];
  /** True if the allocation was made inside a hook. */
  unrecorded: boolean;
}

const LAYOUT = {
  threadCount: Header.threads,
  moduleCount: Header.modules,
  unrecorded: Header.unrecorded,
  threads: Place.threads,
  threadBytes: THREAD_BYTES,
  threadId: Thread.id,
  threadEnd: Thread.end,
  threadFrames: Thread.frames,
  threadSettled: Thread.settled,
  threadStack: Thread.stack,
  frameBytes: STACK_FRAME_BYTES,
  frameAddress: StackFrame.address,
  frameSite: StackFrame.site,
  modules: Place.modules,
  moduleBytes: MODULE_BYTES,
  moduleSite: Module.site,
  root: Place.nodes,
  nodeParent: Node.parent,
  nodeSite: Node.site,
};

export const canStop =
  process.platform === "linux" &&
  process.arch === "x64" &&
  spawnSync("gcc", ["--version"], { stdio: "ignore" }).status === 0 &&
  spawnSync("gdb", ["-batch", "-nx", "-ex", "python print(1)"], { encoding: "utf8" }).stdout?.trim() === "1";

/** Runs a program under gdb with the memshade image preloaded; returns the stacks of both at random allocations. */
export async function stopsByGdb(program: StoppedProgram): Promise<{ stops: Stop[]; said: string }> {
  const folder = mkdtempSync(join(tmpdir(), "memshade-stops-"));
  const library = join(folder, "stop-at.so");
  const out = join(folder, "stops");
  const input = join(folder, "input");
  spawnSync("gcc", ["-O1", "-g", "-shared", "-fPIC", LIBRARY, "-o", library], { stdio: "inherit" });
  writeFileSync(input, program.input ?? "");
  const [name, ...args] = program.command;
  const { file, argv } = executedProgram(name, args);
  const image = placeImage({
    clock: "virtual",
    blocks: true,
    mappings: false,
    foreign: new Map(),
    children: true,
    isSampled: false,
  });
  const memoryPrefix = image.memoryOf(0).slice(0, -1);
  const wanted = new WantedTables(image.tables);
  const memories = new Map<string, MemoryFile>();
  const watch = setInterval(() => {
    for (const found of readdirSync(dirname(memoryPrefix))) {
      const path = join(dirname(memoryPrefix), found);
      if (!found.startsWith(basename(memoryPrefix)) || memories.has(path)) continue;
      const memory = MemoryFile.open(path);
      if (memory !== undefined) memories.set(path, memory);
    }
    for (const memory of memories.values()) wanted.make(memory);
  }, WATCH_MS);
  try {
    for (const { object } of neededObjects(checkProgram(file))) image.tables.make(object);
    const parameters = { memory: memoryPrefix, layout: LAYOUT, out, count: program.count, gap: program.gap };
    const commands = [
      "set debuginfod enabled off",
      "set pagination off",
      "set confirm off",
      "set breakpoint pending on",
      "set backtrace past-main on",
      "set backtrace past-entry on",
      "set backtrace limit unlimited",
      "handle all nostop noprint pass",
      "handle SIGINT nostop noprint pass",
      "handle SIGTRAP stop print nopass",
      `set exec-wrapper env LD_PRELOAD=${image.path}:${library}`,
      `set args ${[...argv.slice(1).map(quoted), `<${input}`, ">/dev/null 2>&1"].join(" ")}`,
      `python stops = ${JSON.stringify({ ...parameters, seed: program.seed ?? 1 })}`,
      `source ${SCRIPT}`,
    ];
    const gdb = spawn("gdb", ["-batch", "-nx", ...commands.flatMap((one) => ["-ex", one]), file], {
      cwd: program.cwd ?? folder,
      env: { ...process.env, ...program.env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [gdb.stdout, gdb.stderr]) stream.on("data", (text) => (said += text));
    await new Promise((done) => gdb.on("close", done));
    const lines = readFileSync(out, "utf8").split("\n").filter(Boolean);
    return { stops: lines.map((line) => JSON.parse(line)), said };
  } finally {
    clearInterval(watch);
    for (const memory of memories.values()) memory.close();
    image.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

function quoted(argument: string): string {
  return `'${argument.replaceAll("'", `'\\''`)}'`;
}
