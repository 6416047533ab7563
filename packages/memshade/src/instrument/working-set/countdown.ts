import { opcodeId } from "../../wasm/index.ts";
import { NO_LOCAL } from "../operand-stack.ts";
import type { SnippetSink } from "../snippet-sink.ts";

/** What the countdown's code refers to. */
export interface CountdownTargets {
  memory: number;
  /** Shadow address of the countdown. */
  clock: number;
  /** Shadow address of the flag that real time sets; −1: time is virtual. */
  flag: number;
  poll: number;
  pollFlag: number;
  advance: number;
}

const LOCAL_GET = opcodeId("local.get");
const LOCAL_SET = opcodeId("local.set");
const LOCAL_TEE = opcodeId("local.tee");
const CALL = opcodeId("call");
const I32_LOAD = opcodeId("i32.load");
const I32_STORE = opcodeId("i32.store");
const I32_ADD = opcodeId("i32.add");
const I32_SUB = opcodeId("i32.sub");
const I32_MUL = opcodeId("i32.mul");
const I32_LE_S = opcodeId("i32.le_s");
const IF = opcodeId("if");
const NO_RESULT = 0x40;
const WORD = 2;

/**
 * Writes the code that counts accesses down to the next snapshot. The countdown lies in the tool's memory; functions
 * may keep it in a local while no other one needs it.
 */
export class Countdown {
  readonly #targets: CountdownTargets;
  /** The local that holds it, `NO_LOCAL` where it stays in memory. */
  local = NO_LOCAL;
  /** A local for a moment. */
  scratch = NO_LOCAL;

  constructor(targets: CountdownTargets) {
    this.#targets = targets;
  }

  get isVirtual(): boolean {
    return this.#targets.flag < 0;
  }

  /** Pushes it. */
  write(sink: SnippetSink): void {
    if (this.local === NO_LOCAL) this.#read(sink);
    else sink.local(LOCAL_GET, this.local);
  }

  load(sink: SnippetSink): void {
    this.#read(sink);
    sink.local(LOCAL_SET, this.local);
  }

  save(sink: SnippetSink): void {
    sink.i32(0);
    sink.local(LOCAL_GET, this.local);
    sink.access(I32_STORE, WORD, this.#targets.memory, this.#targets.clock);
  }

  advance(sink: SnippetSink, accesses: number): void {
    this.#change(sink, () => {
      sink.i32(accesses);
      sink.plain(I32_SUB);
    });
  }

  /** `trips`: local with their number; `many`: it may be a large one. */
  advanceTrips(sink: SnippetSink, trips: number, accesses: number, many: boolean): void {
    this.#change(sink, () => {
      sink.local(LOCAL_GET, trips);
      if (many) {
        sink.i32(accesses);
        sink.indexed(CALL, this.#targets.advance);
        return;
      }
      if (accesses !== 1) {
        sink.i32(accesses);
        sink.plain(I32_MUL);
      }
      sink.plain(I32_SUB);
    });
  }

  /** Ends the interval if it is due, and does what `afterwards` writes then; counts `accesses` more in any case. */
  poll(sink: SnippetSink, accesses: number, afterwards: () => void): void {
    const { flag, memory, pollFlag } = this.#targets;
    if (flag >= 0) {
      sink.i32(0);
      sink.access(I32_LOAD, WORD, memory, flag);
      sink.rarely();
      sink.open(IF, NO_RESULT);
      sink.indexed(CALL, pollFlag);
    } else if (this.local !== NO_LOCAL) this.#pollLocal(sink, accesses);
    else this.#pollMemory(sink, accesses);
    afterwards();
    sink.end();
  }

  /** On the stack: whether the interval is due. */
  isDue(sink: SnippetSink): void {
    const { flag, memory } = this.#targets;
    if (flag >= 0) {
      sink.i32(0);
      sink.access(I32_LOAD, WORD, memory, flag);
      return;
    }
    if (this.local === NO_LOCAL) this.#read(sink);
    else sink.local(LOCAL_GET, this.local);
    sink.i32(0);
    sink.plain(I32_LE_S);
  }

  #pollLocal(sink: SnippetSink, accesses: number): void {
    const { local } = this;
    sink.local(LOCAL_GET, local);
    if (accesses !== 0) {
      sink.local(LOCAL_GET, local);
      sink.i32(accesses);
      sink.plain(I32_SUB);
      sink.local(LOCAL_SET, local);
    }
    this.#ifDue(sink);
    sink.local(LOCAL_GET, local);
    this.#callPoll(sink, accesses, true);
    sink.local(LOCAL_SET, local);
  }

  #pollMemory(sink: SnippetSink, accesses: number): void {
    const { memory, clock } = this.#targets;
    const { scratch } = this;
    if (accesses === 0) {
      this.#read(sink);
      sink.local(LOCAL_TEE, scratch);
    } else {
      sink.i32(0);
      this.#read(sink);
      sink.local(LOCAL_TEE, scratch);
      sink.i32(accesses);
      sink.plain(I32_SUB);
      sink.access(I32_STORE, WORD, memory, clock);
      sink.local(LOCAL_GET, scratch);
    }
    this.#ifDue(sink);
    sink.i32(0);
    sink.local(LOCAL_GET, scratch);
    this.#callPoll(sink, accesses, false);
    sink.access(I32_STORE, WORD, memory, clock);
  }

  #ifDue(sink: SnippetSink): void {
    sink.i32(0);
    sink.plain(I32_LE_S);
    sink.rarely();
    sink.open(IF, NO_RESULT);
  }

  /** On the stack: the countdown, from which `accesses` have been taken already if `taken`. */
  #callPoll(sink: SnippetSink, accesses: number, taken: boolean): void {
    if (taken && accesses !== 0) {
      sink.i32(accesses);
      sink.plain(I32_ADD);
    }
    sink.indexed(CALL, this.#targets.poll);
    if (accesses === 0) return;
    sink.i32(accesses);
    sink.plain(I32_SUB);
  }

  #read(sink: SnippetSink): void {
    sink.i32(0);
    sink.access(I32_LOAD, WORD, this.#targets.memory, this.#targets.clock);
  }

  /** countdown = change(countdown) */
  #change(sink: SnippetSink, change: () => void): void {
    if (this.local !== NO_LOCAL) {
      sink.local(LOCAL_GET, this.local);
      change();
      sink.local(LOCAL_SET, this.local);
      return;
    }
    sink.i32(0);
    this.#read(sink);
    change();
    sink.access(I32_STORE, WORD, this.#targets.memory, this.#targets.clock);
  }
}
