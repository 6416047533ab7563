import type { ValType, WasmModule } from "../../code/wasm/index.ts";
import type { ControlStack } from "./walk/control-stack.ts";
import type { OperandStack, ValueNumbers } from "./walk/value-numbers.ts";
import type { Insertions } from "./write/insertions.ts";
import type { Temporaries } from "./write/temporaries.ts";

/** Where the walk is. One object per walker; the fields change as it goes on. */
export interface WalkState {
  readonly module: WasmModule;
  readonly insertions: Insertions;
  /** The simulated operand stack before the instruction at hand. */
  readonly stack: OperandStack;
  readonly values: ValueNumbers;
  readonly control: ControlStack;
  /** Index of the function in the original module, and types of its parameters and locals. */
  function: number;
  locals: ArrayLike<ValType>;
  /** What the function needs besides its own locals. */
  temporaries: Temporaries;
  hasLoops: boolean;
  /** Loops around the place. */
  openLoops: number;
  /** Number of the loop last entered, as the module's scan counts them. */
  loop: number;
}

/** What a function is: program, what only passes requests on to the allocator, or the allocator's own code. */
export type CodePart = "program" | "wrapper" | "allocator";

/**
 * What a tool adds to function bodies. The walk tells it of events in program order, for reachable code only, and only of
 * those that it has a method for. It answers with insertions, `state.insertions.add(position, insertion)`: each an object that
 * writes its instructions when the walk of the function is over. Offsets are positions in the original module's bytes.
 *
 * A pass that, for instance, calls a function before each store:
 *
 *     class StorePass implements ToolPass {
 *       readonly callStored: Insertion = { write: (sink) => sink.indexed(Op.CALL, this.stored) };
 *       begin(state: WalkState): void {
 *         this.insertions = state.insertions;
 *       }
 *       access(op: number, _at: number, _displacement: number, start: number): void {
 *         if (ACCESS_KIND[op] === AccessKind.Store) this.insertions.add(start, this.callStored);
 *       }
 *     }
 */
export interface ToolPass {
  /** Whether what only passes requests on to the allocator is followed too, and, if true, the allocator's own code. */
  readonly everywhere?: boolean | "wrappers";
  /** The walk of a function whose first instruction is at `codeStart` begins. */
  begin(state: WalkState, codeStart: number): void;
  /**
   * A load, store or atomic of the followed memory at `[start, end)`: `at` is the stack index of its address,
   * `displacement` the constant added to it. `stack.depth` is still as before the instruction.
   */
  access?(op: number, at: number, displacement: number, start: number, end: number): void;
  /**
   * `memory.copy`, `fill` or `init` of the followed memory at `[start, end)`, with its two immediates (memories or segment,
   * 0 if there is no second). The instruction itself becomes a call of a function that runs the tool's `bulk` listeners.
   */
  bulk?(op: number, first: number, second: number, start: number, end: number): void;
  /** The block, loop, `if` or `try` at `start` opens: it is about to get the control index `control.top + 1`. */
  enterBlock?(start: number): void;
  /** A basic block ends at `position`: what follows may run a different number of times. */
  endBlock?(position: number): void;
  /** A loop's first instruction is at `body`; it is the innermost block. */
  enterLoop?(body: number): void;
  /** The innermost block, a loop, ends at `[start, end)`. `oneBlock`: all of it is one basic block, which goes on behind it. */
  leaveLoop?(start: number, end: number, oneBlock: boolean): void;
  /** What follows the innermost block, which ends, runs exactly as often as what came before it, unless something traps. */
  passBlock?(): void;
  /** What follows at `position` may be reached by an exception that was caught. */
  caught?(position: number): void;
  /** What happened since `position` may not have happened: another path joins. A block has ended before. */
  merge?(position: number): void;
  /** The instruction `op` at `start` may end the function: a return, a throw, a branch out of it, or its last `end`. */
  leave?(start: number, op: number): void;
  /** The global that `setGlobal` answers for, −1: none. */
  readonly followedGlobal?: number;
  /** `global.set` at `[start, end)`. Returns the function to call instead, −1 to leave it. */
  setGlobal?(global: number, start: number, end: number): number;
  /** `memory.grow` at `[start, end)`. */
  grow?(memory: number, start: number, end: number): void;
  /**
   * An instruction of garbage-collected objects at `[start, end)`: `struct.new` to `array.init_elem`, by its id. Its type, and where
   * it has one its field or second type, are `first` and `second`.
   */
  object?(op: number, first: number, second: number, start: number, end: number): void;
  /** A call at `[start, end)` of a function, or of one unknown (−1). A block ends behind it. */
  call?(callee: number, tail: boolean, start: number, end: number): void;
  /** The walk of the function has ended; its insertions are about to be written. */
  end?(): void;
}

/**
 * Functions of a tool, by index, that listen to what happens to memory as a whole; −1 for those it has not. They are told
 * of ranges inside the memory and below 4 GiB.
 */
export interface MemoryListeners {
  /** Before `memory.copy`: (destination, source, bytes). */
  copy: number;
  /** Before `memory.fill`: (destination, value, bytes). */
  fill: number;
  /** Behind `memory.init`: (destination, bytes). */
  init: number;
  /**
   * Before `memory.init`, and before a copy from another memory, in pieces: (destination of the piece, its bytes, bytes of pieces
   * before). What arrives stands at `pieceBuffer` in the tool's memory.
   */
  arrivingPiece?: number;
  pieceBuffer?: { memory: number; address: number; bytes: number };
  /** Behind a copy from another memory: (destination, bytes); behind one to another memory: (source, bytes). */
  arrived?: number;
  left?: number;
  /** Behind any of them, for each range of the followed memory: (address, bytes, 1 if it was read, else 0). */
  touched?(): number;
}

/** Whether a tool follows a part of the code. */
export function follows({ everywhere }: Pick<ToolPass, "everywhere">, part: CodePart): boolean {
  return part === "program" || everywhere === true || (part === "wrapper" && everywhere === "wrappers");
}
