import {
  globalType,
  I32,
  IMMEDIATE_KIND,
  initialValue,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { readU32Leb } from "../../../../ground/bytes/leb128.ts";
import { dataRange } from "../../../rewrite/facts/data-layout.ts";
import type { ModuleScan } from "../../../rewrite/facts/module-scan.ts";
import type { ToolPass, WalkState } from "../../../rewrite/tool.ts";

/** The program's stack, and the functions by which the host moves its pointer. */
export interface MovableStack {
  pointer: number;
  /** Lowest address of the stack, and its end, where the pointer begins. */
  start: number;
  end: number;
  movers: ReadonlySet<number>;
}

/**
 * Finds functions such as Emscripten's `stackAlloc` and `stackRestore`, or wasm-bindgen's `__wbindgen_add_to_stack_pointer`.
 * They are exported, called by no function of the module, and set the stack pointer once. A function with a frame of its own
 * sets it twice, to its frame and back. Returns undefined if the location of the stack is unknown.
 */
export function findMovableStack(
  module: WasmModule,
  { callees }: ModuleScan,
  pointer: number,
): MovableStack | undefined {
  const { from: start, to: end } = stackRange(module, pointer);
  if (end === 0 || globalType(module, pointer).type !== I32) return undefined;
  const movers = new Set<number>();
  for (const { kind, index } of module.exports)
    if (kind === "function" && setsOf(module, index, pointer) === 1) movers.add(index);
  for (const callee of callees) movers.delete(callee);
  return { pointer, start, end, movers };
}

/** Returns the range of the stack: linkers place it on one side of the data. Both ends are 0 if it is unknown. */
export function stackRange(module: WasmModule, pointer: number): { from: number; to: number } {
  const top = initialValue(module, pointer);
  const data = dataRange(module);
  if (top === undefined || top <= 0) return { from: 0, to: 0 };
  if (data === undefined || data.from >= top) return { from: 0, to: top };
  return data.to <= top ? { from: data.to, to: top } : { from: 0, to: 0 };
}

/** Counts the instructions of a function that set a global. */
function setsOf({ bytes, bodies, importedFunctionCount }: WasmModule, index: number, global: number): number {
  const body = bodies[index - importedFunctionCount];
  if (body === undefined || !bytes.subarray(body.codeStart, body.end).includes(Op.GLOBAL_SET)) return 0;
  let sets = 0;
  for (let at = body.codeStart; at < body.end; ) {
    const op = opcodeIdAt(bytes, at);
    const immediates = skipOpcode(bytes, at);
    if (op === Op.GLOBAL_SET && readU32Leb(bytes, immediates) === global) sets++;
    at = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
  }
  return sets;
}

/** Records the bytes that the host takes of the program's stack, and the bytes that it gives back. */
export class StackTakesPass implements ToolPass {
  readonly followedGlobal: number;
  readonly #movers: ReadonlySet<number>;
  readonly #moving: () => number;
  #state!: WalkState;

  /** @param moving index of the function (new value, function) → new value to call before the pointer is set */
  constructor({ pointer, movers }: MovableStack, moving: () => number) {
    this.followedGlobal = pointer;
    this.#movers = movers;
    this.#moving = moving;
  }

  begin(state: WalkState): void {
    this.#state = state;
  }

  setGlobal(global: number, start: number): number {
    const { function: index, insertions } = this.#state;
    if (global === this.followedGlobal && this.#movers.has(index))
      insertions.add(start, {
        write: (sink) => {
          sink.i32(index);
          sink.indexed(Op.CALL, this.#moving());
        },
      });
    return -1;
  }
}
