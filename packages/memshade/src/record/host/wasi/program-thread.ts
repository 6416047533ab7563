/**
 * Thread of a WASI program. The thread that started it stays free for signals and reads the shadow memory. Standard
 * input and output are the process's own, read and written synchronously.
 */
import { WASI } from "node:wasi";
import { parentPort, workerData } from "node:worker_threads";
import type { RunEnd } from "../../../profile/model/run.ts";
import type { KnownReach } from "../../tools/heap/read/reach/apply-reach.ts";
import { findReach } from "../../tools/heap/read/reach/look-through.ts";
import { observeImports } from "../../tools/waste/read/wasi-ranges.ts";
import { connectHost, settleObjects } from "../instance/host-calls.ts";
import { isAtStart, wasmFrames } from "../instance/wasm-frames.ts";
import { describeEnd } from "../run/run-end.ts";
import type { WasiMessage, WasiProgram } from "./messages.ts";

function post(message: WasiMessage): void {
  parentPort!.postMessage(message);
}

/** Requests that the supervising thread empty the tables, and waits until that is done. */
function flush(): void {
  const answer = new Int32Array(new SharedArrayBuffer(4));
  post({ kind: "flush", answer });
  Atomics.wait(answer, 0, 0);
}

let exports: WebAssembly.Exports | undefined;
/** True if the program ended inside of its functions; undefined if its frames alone do not show it. */
let endedInside: boolean | undefined = false;

function run(program: WasiProgram): RunEnd {
  const { module, info, version, args, env, preopens, invoke } = program;
  const wasi = new WASI({ version, args, env, preopens, returnOnExit: true });
  const imports = wasi.getImportObject() as WebAssembly.Imports;
  noteExit(imports);
  const observed = observeImports(imports, info);
  const instance = new WebAssembly.Instance(module, observed?.imports ?? imports);
  exports = instance.exports;
  observed?.connect(exports);
  post({ kind: "instance", memories: connectHost(exports, info, { flush }) });

  const start = exports._start as (() => void) | undefined;
  const initialize = exports._initialize as (() => void) | undefined;
  // Programs without a memory can still exit. Other calls of WASI return an error code.
  const bound = { memory: exports.memory ?? new WebAssembly.Memory({ initial: 0 }) };
  const inProgram = (action: () => void): number => wasi.start({ exports: { ...bound, _start: action } });

  if (invoke === undefined) return { kind: "exit", exitCode: inProgram(start ?? initialize ?? (() => {})) };
  const target = exports[invoke.name] as (...args: unknown[]) => unknown;
  const exitCode = inProgram(() => {
    initialize?.();
    const result = target(...invoke.values);
    post({ kind: "result", text: result === undefined ? "nothing" : String(result) });
  });
  return { kind: "exit", exitCode };
}

/** Records where the program is when it exits. Its start function exits too, after all others have returned. */
function noteExit(imports: WebAssembly.Imports): void {
  for (const functions of Object.values(imports)) {
    const exit = functions.proc_exit as ((code: number) => void) | undefined;
    if (exit === undefined) continue;
    functions.proc_exit = (code: number) => {
      // The main function may be inlined into the start function.
      endedInside = isAtStart(wasmFrames()) ? undefined : true;
      exit(code);
    };
  }
}

function reachAtEnd(end: RunEnd): KnownReach | undefined {
  const { info, original } = workerData as WasiProgram;
  const isInside = end.kind !== "exit" || endedInside;
  return exports && findReach(exports, info, { inside: isInside, hostMayHold: false, original });
}

let end: RunEnd;
try {
  end = run(workerData as WasiProgram);
} catch (error) {
  end = describeEnd(error);
}
post({ kind: "reach", reach: reachAtEnd(end) });
if ((workerData as WasiProgram).info.toolLayouts?.objects !== undefined) {
  // The engine keeps objects that the program has used until the end of its task.
  await new Promise((done) => setImmediate(done));
  settleObjects();
}
post({ kind: "end", end });
