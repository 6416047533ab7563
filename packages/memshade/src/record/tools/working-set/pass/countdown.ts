import * as Op from "../../../../code/wasm/op.generated.ts";
import { NO_LOCAL } from "../../../rewrite/walk/value-numbers.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";

export interface CountdownTargets {
  memory: number;
  /** Global with the countdown; −1: accesses are not counted. */
  clock: number;
  /** Shadow address of the copy of the countdown for readers. The next word is 1 while the module has control. */
  published: number;
  /** Shadow address of the flag that real time sets; −1: time is virtual. */
  flag: number;
  poll: number;
  pollFlag: number;
}

const NO_RESULT = 0x40;
const WORD = 2;
const DOUBLE_WORD = 3;
const WORD_BYTES = 4;

/**
 * Writes the code that counts accesses down to the next snapshot. The countdown is a global; functions may keep it in a
 * local while no other function needs it. Other threads cannot read an instance's globals, and hosts that are not
 * written in JavaScript save only memories. Both read a copy in the tool's memory, made before the host gets control.
 */
export class Countdown {
  readonly #targets: CountdownTargets;
  /** Local with the countdown; `NO_LOCAL`: it stays in its global. */
  local = NO_LOCAL;
  scratch = NO_LOCAL;

  constructor(targets: CountdownTargets) {
    this.#targets = targets;
  }

  get isVirtual(): boolean {
    return this.#targets.flag < 0;
  }

  write(sink: SnippetSink): void {
    if (this.local === NO_LOCAL) sink.indexed(Op.GLOBAL_GET, this.#targets.clock);
    else sink.local(Op.LOCAL_GET, this.local);
  }

  load(sink: SnippetSink): void {
    sink.indexed(Op.GLOBAL_GET, this.#targets.clock);
    sink.local(Op.LOCAL_SET, this.local);
  }

  save(sink: SnippetSink): void {
    sink.local(Op.LOCAL_GET, this.local);
    sink.indexed(Op.GLOBAL_SET, this.#targets.clock);
  }

  /** Copies the countdown to the tool's memory before the host gets control, and marks that the host has control. */
  publish(sink: SnippetSink): void {
    if (!this.isVirtual) {
      this.#setInside(sink, 0);
      return;
    }
    sink.i32(0);
    this.write(sink);
    sink.plain(Op.I64_EXTEND_I32_U);
    sink.access(Op.I64_STORE, DOUBLE_WORD, this.#targets.memory, this.#targets.published);
  }

  /**
   * Marks that the module has control. If the mark is still there when the host enters again, a trap ended the code.
   */
  resume(sink: SnippetSink): void {
    this.#setInside(sink, 1);
  }

  #setInside(sink: SnippetSink, value: number): void {
    sink.i32(0);
    sink.i32(value);
    sink.access(Op.I32_STORE, WORD, this.#targets.memory, this.#targets.published + WORD_BYTES);
  }

  take(sink: SnippetSink): void {
    this.#set(sink);
  }

  advance(sink: SnippetSink, accesses: number): void {
    this.write(sink);
    sink.i32(accesses);
    sink.plain(Op.I32_SUB);
    this.#set(sink);
  }

  poll(sink: SnippetSink): void {
    const { flag, memory, pollFlag } = this.#targets;
    if (flag >= 0) {
      sink.i32(0);
      sink.access(Op.I32_LOAD, WORD, memory, flag);
      sink.rarely();
      sink.open(Op.IF, NO_RESULT);
      sink.indexed(Op.CALL, pollFlag);
    } else this.#pollCountdown(sink);
    sink.end();
  }

  #pollCountdown(sink: SnippetSink): void {
    const isInLocal = this.local !== NO_LOCAL;
    const held = isInLocal ? this.local : this.scratch;
    this.write(sink);
    if (!isInLocal) sink.local(Op.LOCAL_TEE, held);
    sink.i32(0);
    sink.plain(Op.I32_LE_S);
    sink.rarely();
    sink.open(Op.IF, NO_RESULT);
    sink.local(Op.LOCAL_GET, held);
    sink.indexed(Op.CALL, this.#targets.poll);
    this.#set(sink);
  }

  #set(sink: SnippetSink): void {
    if (this.local === NO_LOCAL) sink.indexed(Op.GLOBAL_SET, this.#targets.clock);
    else sink.local(Op.LOCAL_SET, this.local);
  }
}
