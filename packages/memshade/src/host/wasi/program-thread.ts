/**
 * The thread in which a WASI program runs. The thread that started it stays free for signals and reads the shadow
 * memory from there; standard input and output are the process's own, read and written synchronously.
 */
import { WASI } from "node:wasi";
import { parentPort, workerData } from "node:worker_threads";
import type { RunEnd } from "../../model/run.ts";
import { observeImports } from "../../tools/waste/read/host-ranges.ts";
import { connectHost } from "../instance/host-calls.ts";
import { describeEnd } from "../run/run-end.ts";
import type { WasiMessage, WasiProgram } from "./messages.ts";

function post(message: WasiMessage): void {
  parentPort!.postMessage(message);
}

/** Asks the supervising thread to take over what the tables hold and waits until it has. */
function flush(): void {
  const answer = new Int32Array(new SharedArrayBuffer(4));
  post({ kind: "flush", answer });
  Atomics.wait(answer, 0, 0);
}

function run(program: WasiProgram): RunEnd {
  const { module, info, version, args, env, preopens, invoke } = program;
  const wasi = new WASI({ version, args, env, preopens, returnOnExit: true });
  const imports = wasi.getImportObject() as WebAssembly.Imports;
  const observed = observeImports(imports, info);
  const instance = new WebAssembly.Instance(module, observed?.imports ?? imports);
  const { exports } = instance;
  observed?.connect(exports);
  post({ kind: "instance", memories: connectHost(exports, info, { flush }) });

  const start = exports._start as (() => void) | undefined;
  const initialize = exports._initialize as (() => void) | undefined;
  // Programs without a memory can still exit; those that do more get an error code from WASI.
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

let end: RunEnd;
try {
  end = run(workerData as WasiProgram);
} catch (error) {
  end = describeEnd(error);
}
post({ kind: "end", end });
