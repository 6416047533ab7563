import {
  Rule,
  RuleKind,
  TABLES_HEAD_BYTES,
  TABLES_MAGIC,
  TABLES_VERSION,
  TablesHead,
} from "../../../../src/record/native/layout.ts";
import { setTablesSum } from "../../../../src/record/native/tables/tables-file.ts";
import type { CallSite, FakeProcess } from "./fake-process.ts";

export type Shape = "fixed" | "saves" | "pointer" | "realigned";

/** Functions of the machine: 64 bytes of code each, with one rule for the whole code. The first function is the outermost. */
export const SHAPES: readonly Shape[] = [
  "fixed",
  "fixed",
  "saves",
  "pointer",
  "pointer",
  "realigned",
  "fixed",
];
const FUNCTION_BYTES = 64;
const CODE = 0x40_0000;
const STACK = 0x7fff_0000_0000;
const STACK_BYTES = 1 << 20;
/** Frame sizes, in words, of functions without frame pointer; then the word in which they save the caller's frame pointer. */
const FIXED_WORDS = [0, 2, 5, 0, 0, 0, 1];
const SAVED_WORDS = 3;

function ruleOf(index: number): number {
  const rule = (kind: number, cfaWords: number, savedWords: number) =>
    kind | (cfaWords << Rule.cfaShift) | (savedWords << Rule.savedShift);
  if (index === 0) return RuleKind.end;
  switch (SHAPES[index]) {
    case "fixed":
      return rule(RuleKind.stackPointer, FIXED_WORDS[index], 0);
    case "saves":
      return rule(RuleKind.stackPointer, FIXED_WORDS[index], SAVED_WORDS);
    case "pointer":
      return rule(RuleKind.framePointer, 2, 2);
    case "realigned":
      return rule(RuleKind.saved, 1, 1);
  }
}

function tables(): Uint8Array {
  const rules = SHAPES.map((_, index) => ruleOf(index));
  const entries = SHAPES.map((_, index) => (index << 12) | (index * FUNCTION_BYTES));
  const end = (SHAPES.length << 12) | (SHAPES.length * FUNCTION_BYTES);
  const words = [0, entries.length + 1, ...entries, end, ...rules, RuleKind.none];
  const bytes = new Uint8Array(TABLES_HEAD_BYTES + 4 * words.length);
  new Uint32Array(bytes.buffer).set([TABLES_MAGIC, TABLES_VERSION]);
  const counts = [CODE, 0, 1, entries.length + 1, rules.length + 1];
  new Uint32Array(bytes.buffer, TablesHead.base).set(counts);
  new Uint32Array(bytes.buffer, TABLES_HEAD_BYTES).set(words);
  setTablesSum(bytes);
  return bytes;
}

interface Activation {
  /** Address of the function's return address, then the function's own stack pointer and frame pointer. */
  readonly place: number;
  readonly stackPointer: number;
  readonly framePointer: number;
  readonly address: number;
}

/** A thread that calls functions and returns from them, on a stack in the memory of several processes at once. */
export class Machine {
  readonly #processes: readonly FakeProcess[];
  readonly #active: Activation[] = [];

  constructor(processes: readonly FakeProcess[]) {
    this.#processes = processes;
    for (const process of processes) {
      process.memory.map(STACK - STACK_BYTES, new Uint8Array(STACK_BYTES));
      process.load({ start: CODE, end: CODE + 4096, bias: 0, name: "/bin/machine" }, tables());
    }
    const stackPointer = STACK - 4096;
    this.#active.push({ place: stackPointer, stackPointer, framePointer: 0, address: CODE + 8 });
  }

  get depth(): number {
    return this.#active.length;
  }

  /** The newest function calls another one, from `at` bytes behind its beginning. `more`: extra words of its frame, if the size varies. */
  call(index: number, at: number, more: number): void {
    const caller = this.#active.at(-1)!;
    const place = caller.stackPointer - 8;
    this.#store(place, caller.address);
    const cfa = place + 8;
    const address = CODE + index * FUNCTION_BYTES + 1 + at;
    let { framePointer } = caller;
    let stackPointer = cfa - 8 * FIXED_WORDS[index];
    switch (SHAPES[index]) {
      case "saves":
        this.#store(cfa - 8 * SAVED_WORDS, framePointer);
        framePointer = 8 * more;
        break;
      case "pointer":
        this.#store(cfa - 16, framePointer);
        framePointer = cfa - 16;
        stackPointer = framePointer - 8 * more;
        break;
      case "realigned":
        this.#store(Math.floor((cfa - 32) / 16) * 16, framePointer);
        framePointer = Math.floor((cfa - 32) / 16) * 16;
        this.#store(framePointer - 8, cfa);
        stackPointer = framePointer - 16 - 8 * more;
    }
    this.#active.push({ place, stackPointer, framePointer, address });
  }

  /** Words that functions leave on the stack stay there. */
  return(): void {
    if (this.#active.length > 1) this.#active.pop();
  }

  get site(): CallSite {
    const { stackPointer, framePointer, address } = this.#active.at(-1)!;
    this.#store(stackPointer - 8, address);
    return { address, place: stackPointer - 8, framePointer };
  }

  get interrupted(): { address: number; stackPointer: number; framePointer: number } {
    return this.#active.at(-1)!;
  }

  /** Return addresses of the stack, innermost first. */
  get frames(): number[] {
    return this.#active.map(({ address }) => address).reverse();
  }

  #store(at: number, value: number): void {
    for (const process of this.#processes) process.memory.store64(at, BigInt(value));
  }
}
