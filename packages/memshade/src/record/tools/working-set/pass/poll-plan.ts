import { importsOf, type WasmModule } from "../../../../code/wasm/index.ts";
import { breakCircles, functionsReaching } from "../../../rewrite/facts/call-graph.ts";
import { FunctionFact, type ModuleScan } from "../../../rewrite/facts/module-scan.ts";

/** Modules whose imports never call back into the program. `proc_exit` ends it. */
const NEVER_COMES_BACK = new Set(["wasi_snapshot_preview1", "wasi_unstable"]);

const EXIT = "proc_exit";

/**
 * Positions where a program must check whether an interval has ended: loop headers, and the start of functions if
 * recursion through them may never end. The host checks when it enters.
 */
export class PollPlan {
  readonly #imported: number;
  readonly #pollsAtEntry: Uint8Array;
  readonly #mayPoll: Uint8Array;
  readonly #mayAccess: Uint8Array;
  readonly #mayExit: Uint8Array;

  constructor(module: WasmModule, scan: ModuleScan) {
    this.#imported = module.importedFunctionCount;
    const polling: number[] = [];
    const accessing: number[] = [];
    const exiting: number[] = [];
    importsOf(module, "function").forEach((entry, index) => {
      if (NEVER_COMES_BACK.has(entry.module)) {
        if (entry.field === EXIT) exiting.push(index);
        return;
      }
      polling.push(index);
      accessing.push(index);
    });
    const callsUnknown = Uint8Array.from(scan.facts, (facts) =>
      (facts & FunctionFact.HasIndirectCall) !== 0 ? 1 : 0,
    );
    this.#pollsAtEntry = breakCircles(module, scan, callsUnknown);
    scan.facts.forEach((facts, defined) => {
      const index = defined + this.#imported;
      if ((facts & FunctionFact.HasLoop) !== 0 || this.#pollsAtEntry[defined] === 1) polling.push(index);
      if (callsUnknown[defined] === 1 || (facts & FunctionFact.HasAccess) !== 0) accessing.push(index);
    });
    this.#mayPoll = functionsReaching(module, scan, polling);
    this.#mayAccess = functionsReaching(module, scan, accessing);
    this.#mayExit = functionsReaching(module, scan, exiting);
  }

  /**
   * True if the function polls at its start. Every cycle of calls and every call of an unknown function leads through
   * one of these.
   */
  pollsAtEntry(index: number): boolean {
    return index >= this.#imported && this.#pollsAtEntry[index - this.#imported] === 1;
  }

  /** True if the host provides the function. −1 stands for an unknown function, taken for one of the module. */
  isHost(callee: number): boolean {
    return callee >= 0 && callee < this.#imported;
  }

  /** True if an interval can end while the function runs. −1 stands for an unknown function. */
  mayPoll(callee: number): boolean {
    return callee < 0 || this.#mayPoll[callee] === 1;
  }

  /** True if the program may end in the function. An unknown function counts as one that may poll. */
  mayExit(callee: number): boolean {
    return callee < 0 || this.#mayExit[callee] === 1;
  }

  mayAccess(callee: number): boolean {
    return callee < 0 || this.#mayAccess[callee] === 1;
  }
}
