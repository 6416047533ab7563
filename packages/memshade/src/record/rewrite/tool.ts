import type { ValType, WasmModule } from "../../code/wasm/index.ts";
import type { ControlStack } from "./walk/control-stack.ts";
import type { OperandStack, ValueNumbers } from "./walk/value-numbers.ts";
import type { Insertions } from "./write/insertions.ts";
import type { Temporaries } from "./write/temporaries.ts";

/** State of the walk. One object per walker; the fields change as the walk proceeds. */
export interface WalkState {
  readonly module: WasmModule;
  readonly insertions: Insertions;
  /** Simulated operand stack before the current instruction. */
  readonly stack: OperandStack;
  readonly values: ValueNumbers;
  readonly control: ControlStack;
  /** Index of the function in the original module. `locals`: types of its parameters and locals. */
  function: number;
  locals: ArrayLike<ValType>;
  /** Locals that the function needs besides its own. */
  temporaries: Temporaries;
  hasLoops: boolean;
  openLoops: number;
  /** Number of the loop last entered, as in the module's scan. */
  loop: number;
}

/** Kind of a function: program, wrapper that passes requests on to the allocator, or allocator. */
export type CodePart = "program" | "wrapper" | "allocator";

/**
 * Additions of a tool to function bodies. The walk calls the methods for events in program order, for reachable code
 * only. A pass answers with `state.insertions.add(position, insertion)`. An insertion writes its instructions after the
 * walk of the function. Offsets are positions in the original module's bytes.
 *
 * Example of a pass that calls a function before each store:
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
  /**
   * Parts of the code beside the program: `"wrappers"` adds functions that pass requests on to the allocator; true adds
   * the allocator, too.
   */
  readonly everywhere?: boolean | "wrappers";
  /** Begins the walk of a function whose first instruction is at `codeStart`. */
  begin(state: WalkState, codeStart: number): void;
  /**
   * Load, store or atomic of the followed memory at `[start, end)`. `at`: stack index of its address. `displacement`:
   * constant added to the address. `stack.depth` is that before the instruction.
   */
  access?(op: number, at: number, displacement: number, start: number, end: number): void;
  /**
   * `memory.copy`, `fill` or `init` of the followed memory at `[start, end)`, with its immediates (memories or segment;
   * `second` is 0 if there is none). The instruction becomes a call of a function that calls the tools'
   * `MemoryListeners`.
   */
  bulk?(op: number, first: number, second: number, start: number, end: number): void;
  /** The block, loop, `if` or `try` at `start` opens. Its control index will be `control.top + 1`. */
  enterBlock?(start: number): void;
  /** A basic block ends at `position`. The following code may run a different number of times. */
  endBlock?(position: number): void;
  /** A loop whose first instruction is at `body` has become the innermost block. */
  enterLoop?(body: number): void;
  /**
   * The innermost block, a loop, ends at `[start, end)`. `oneBlock`: the loop is a single basic block, which continues
   * after it.
   */
  leaveLoop?(start: number, end: number, oneBlock: boolean): void;
  /**
   * The innermost block ends. The following code runs exactly as often as the code before the block, unless an
   * instruction traps.
   */
  passBlock?(): void;
  /** A caught exception may reach the code at `position`. */
  caught?(position: number): void;
  /** Another path joins: events since `position` may not have happened. `endBlock` was called before. */
  merge?(position: number): void;
  /** The instruction `op` at `start` may end the function: a return, a throw, a branch out of it, or its last `end`. */
  leave?(start: number, op: number): void;
  /** Global for which `setGlobal` is called; −1: none. */
  readonly followedGlobal?: number;
  /** `global.set` at `[start, end)`. Returns the function to call instead, −1 to leave the instruction. */
  setGlobal?(global: number, start: number, end: number): number;
  grow?(memory: number, start: number, end: number): void;
  /**
   * Instruction of garbage-collected objects at `[start, end)`, from `struct.new` to `array.init_elem`. `first` is its
   * type; `second` is its field or second type, if it has one.
   */
  object?(op: number, first: number, second: number, start: number, end: number): void;
  /** Call at `[start, end)` of a function; −1 if the callee is unknown. A basic block ends after it. */
  call?(callee: number, tail: boolean, start: number, end: number): void;
  end?(): void;
}

/**
 * Functions of a tool, by index, that are called for bulk memory instructions; −1 if absent. Ranges are inside the
 * memory and below 4 GiB.
 */
export interface MemoryListeners {
  /** Called before `memory.copy`: (destination, source, bytes). */
  copy: number;
  /** Called before `memory.fill`: (destination, value, bytes). */
  fill: number;
  /** Called after `memory.init`: (destination, bytes). */
  init: number;
  /**
   * Called before `memory.init` and before a copy from another memory, once per piece: (destination of the piece, its
   * bytes, bytes of earlier pieces). The piece's content is at `pieceBuffer` in the tool's memory.
   */
  arrivingPiece?: number;
  pieceBuffer?: { memory: number; address: number; bytes: number };
  /**
   * Called after a copy from another memory: (destination, bytes). `left`: after a copy to another memory: (source,
   * bytes).
   */
  arrived?: number;
  left?: number;
  /** Called after each instruction, per range of the followed memory: (address, bytes, 1 if it was read, else 0). */
  touched?(): number;
}

export function follows({ everywhere }: Pick<ToolPass, "everywhere">, part: CodePart): boolean {
  return part === "program" || everywhere === true || (part === "wrapper" && everywhere === "wrappers");
}
