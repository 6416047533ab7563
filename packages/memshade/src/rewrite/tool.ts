import type { AllocatorPlan } from "../allocator/find/plan.ts";
import type { EntryPoints } from "../contexts/entry-points.ts";
import type { InstrumentOptions, WovenToolName } from "../tools/options.ts";
import type { DataContent, ValType, WasmModule } from "../wasm/index.ts";
import type { ModuleScan } from "./facts/module-scan.ts";
import type { ControlStack } from "./walk/control-stack.ts";
import type { OperandStack } from "./walk/operand-stack.ts";
import type { ValueNumbers } from "./walk/value-numbers.ts";
import type { AppendedFunctions } from "./write/appended-functions.ts";
import type { CodeMark } from "./write/code-marks.ts";
import type { FollowedCalls } from "./write/entry-wrappers.ts";
import type { Insertions } from "./write/insertions.ts";
import type { SnippetSink } from "./write/snippet-sink.ts";
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
 * What a tool adds to function bodies. The walk calls it in program order, for reachable code only; it asks for
 * insertions of its own kind with `state.insertions.add(position, kind, …)`, where `kind` was given to `begin`, and
 * writes their bytes when the function is written. Offsets are positions in the original module's bytes.
 */
export interface ToolPass {
  /** Whether what only passes requests on to the allocator is followed too, and, if true, the allocator's own code. */
  readonly everywhere?: boolean | "wrappers";
  /** The walk of a function whose first instruction is at `codeStart` begins. */
  begin(state: WalkState, kind: number, codeStart: number): void;
  /**
   * A load, store or atomic of the followed memory at `[start, end)`: `at` is the stack index of its address,
   * `displacement` the constant added to it. `stack.depth` is still as before the instruction.
   */
  access(op: number, at: number, displacement: number, start: number, end: number): void;
  /**
   * `memory.copy`, `fill` or `init` of the followed memory at `[start, end)`, with its two immediates (memories or segment,
   * 0 if there is no second). The instruction itself becomes a call of a function that runs the tool's `bulk` listeners.
   */
  bulk(op: number, first: number, second: number, start: number, end: number): void;
  /** A basic block ends at `position`: what follows may run a different number of times. */
  endBlock(position: number): void;
  /** A loop's first instruction is at `body`. */
  enterLoop(body: number): void;
  /** A loop ends at `[start, end)`; `oneBlock`: all of it is one basic block, which goes on behind it. */
  leaveLoop?(start: number, end: number, oneBlock: boolean): void;
  /** What follows at `position` may be reached by an exception that was caught. */
  caught?(position: number): void;
  /** What happened since `position` may not have happened: another path joins. A block has ended before. */
  merge?(position: number): void;
  /** An instruction with labels at `[start, end)`: a branch, or a `try_table`. */
  branch?(start: number, end: number): void;
  /** The instruction at `start` may end the function: a return, a branch out of it, or its last `end`. */
  leave?(start: number): void;
  /** The global that `setGlobal` answers for, −1: none. */
  readonly followedGlobal?: number;
  /** `global.set` at `[start, end)`. Returns the function to call instead, −1 to leave it. */
  setGlobal(global: number, start: number, end: number): number;
  /** `memory.grow` at `[start, end)`. */
  grow(memory: number, start: number, end: number): void;
  /** A call at `[start, end)` of a function, or of one unknown (−1). A block ends behind it. */
  call(callee: number, tail: boolean, start: number, end: number): void;
  /** The walk of the function has ended. */
  end(): void;
  /** Writes an insertion: its operands are `insertions.a[entry]` … `d[entry]`. At most `LONGEST_SNIPPET` bytes. */
  write(sink: SnippetSink, entry: number): void;
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
   * Before `memory.init`, in pieces: (destination of the piece, its bytes, bytes of pieces before). The piece of the
   * segment stands at `initBuffer` in the tool's memory.
   */
  initPiece?: number;
  initBuffer?: { memory: number; address: number; bytes: number };
  /** Behind a copy from another memory: (destination, bytes); behind one to another memory: (source, bytes). */
  arrived?: number;
  left?: number;
}

/** Functions of a tool, by index, that listen to the allocator. */
export interface AllocationListeners {
  /** () before an allocation or reallocation; absent: nothing to be told. */
  requested?: number;
  /** (address, bytes, `zeroedBy` of a block of zeros, else 0), behind the allocation; the address may be 0. */
  allocated: number;
  /** What the tool wants to be told of blocks that this function hands out zeroed. Not 0. */
  zeroedBy(functionIndex: number): number;
  /** (old address, new address, bytes), behind the reallocation. */
  reallocated: number;
  /** (address), before the release. */
  released: number;
}

/** What a tool is given to weave itself into a module. */
export interface ToolSurroundings {
  module: WasmModule;
  options: InstrumentOptions;
  scan: ModuleScan;
  allocator: AllocatorPlan;
  appended: AppendedFunctions;
  /** The memory that is followed. */
  memory: number;
  memory64: boolean;
  /** Largest size it can reach, bytes. */
  memoryBytes: number;
  /** Global with the program's stack pointer, −1 if none is known. */
  stackPointer: number;
  /** Index of the tool's own memory in the instrumented module. */
  shadowMemory: number;
  /** Index that the first of the tool's globals gets. */
  firstGlobal: number;
  /** Function () → () that asks the host to note the call stack, if there is a host that listens. */
  noteStack(): number;
}

/** Whether a tool follows a part of the code. */
export function follows({ everywhere }: Pick<ToolPass, "everywhere">, part: CodePart): boolean {
  return part === "program" || everywhere === true || (part === "wrapper" && everywhere === "wrappers");
}

/** A word that functions hand from one to the next. */
export interface CarriedWord {
  /** Functions of the module, by index, and their types with one more i32 as last parameter and as last result. */
  types: ReadonlyMap<number, number>;
  /** Global with the word where the host calls them. */
  global: number;
}

/** A tool woven into one module. */
export interface WovenTool {
  readonly name: WovenToolName;
  readonly pass: ToolPass;
  /** What else it adds to the functions that `pass` follows. */
  readonly beside?: ToolPass | undefined;
  /** Size of its memory, a multiple of 64 KiB, asked for when all functions are written. It is exported as `memshade.<name>`. */
  readonly shadowBytes: number;
  /** What that memory begins with: segments of data, asked for when all functions are written. */
  data?(): readonly DataContent[];
  /** Sizes of further memories, behind that one. They are exported as `memshade.<name>.1` and so on. */
  readonly tableBytes?: readonly number[];
  /** All functions are written: the places that were marked, by file offset in the instrumented module. */
  codeWritten?(marks: readonly CodeMark[]): void;
  /** What the host must know to read that memory; asked for when all functions are written. */
  describe(): Readonly<Record<string, number | string | boolean>>;
  /** Function without parameters to run before all others, −1 if there is none. */
  readonly start: number;
  /** Function without parameters to run before each function that the host calls by an export; −1 or absent: none. */
  readonly entered?: number;
  /** The same behind each of them. */
  readonly left?: number;
  /** What wrappers around the functions that the host may call have to keep; absent where it does not follow calls. */
  readonly followedCalls?: (FollowedCalls & { entries: EntryPoints }) | undefined;
  /** Largest size of the program's memory it can follow, bytes, where it must not grow further. */
  readonly memoryLimit: number | undefined;
  readonly carried?: CarriedWord | undefined;
  /** Its globals, mutable as a rule. */
  readonly globals: readonly { type: ValType; initial: Uint8Array; mutable?: boolean }[];
  /** Functions that the host may call, exported as `memshade.<name>.<key>`. */
  readonly exports: Readonly<Record<string, number>>;
  readonly listeners: MemoryListeners;
  readonly allocations: AllocationListeners | undefined;
  /** Sentences: what it does not see in this module. */
  readonly notTracked: readonly string[];
}

/** A tool that finds nothing to follow in a module gives the reason as a sentence. */
export type WeaveTool = (around: ToolSurroundings) => WovenTool | string;
