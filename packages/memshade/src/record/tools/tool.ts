import type { DataContent, ValType, WasmModule } from "../../code/wasm/index.ts";
import type { BlockRecorder } from "../allocator/allocation-hooks.ts";
import type { AllocationListeners } from "../allocator/allocation-listeners.ts";
import type { AllocatorPlan } from "../allocator/find/plan.ts";
import type { EntryPoints } from "../contexts/entry-points.ts";
import type { FollowedCalls } from "../contexts/entry-wrappers.ts";
import type { ShadowStack } from "../contexts/host-frame-functions.ts";
import type { CarriedWord } from "../contexts/wrap-entries.ts";
import type { ModuleScan } from "../rewrite/facts/module-scan.ts";
import type { StaticData } from "../rewrite/facts/static-data.ts";
import type { MemoryListeners, ToolPass } from "../rewrite/tool.ts";
import type { AppendedFunctions } from "../rewrite/write/appended-functions.ts";
import type { CodePlaces } from "../rewrite/write/function-writer.ts";
import type { HostStacks } from "./heap-options.ts";
import type { InstrumentOptions, PointerRoots, ShadowLayout, ToolName } from "./options.ts";

/** What a tool gets to weave itself into a module. */
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
  /** The shadow stack that a tool before this one keeps, with frames below which blocks are asked for. */
  stack: ShadowStack | undefined;
  /** Function () → () that asks the host to note the call stack, if there is a host that listens. */
  noteStack(): number;
  /** Function () → () that asks the host for something else, or () → i32 that says whether there is a host that listens. */
  callHost(slot: number, answers: boolean): number;
}

/** The heap profiler's tables, which other modules may have a part in. */
export interface ShadowTables {
  layout: ShadowLayout;
  /** All instances that share their memory share them. */
  acrossThreads: boolean;
  /** They are those of the module whose memory this one uses. */
  beside: boolean;
  /** Call paths go on with the host's stacks. */
  hostStacks?: HostStacks;
  /** Where pointers to live blocks are looked for; undefined where blocks are not recorded. */
  roots?: PointerRoots | string | undefined;
  /** Where static data lies whose counters stay as they are. */
  statics?: StaticData;
}

/** A tool woven into one module. */
export interface WovenTool {
  readonly name: ToolName;
  readonly pass: ToolPass;
  /** What else it adds to the functions that `pass` follows. */
  readonly beside?: ToolPass | undefined;
  /** What it adds to functions by which the host moves the stack pointer. */
  readonly stackTakes?: ToolPass | undefined;
  /** Function (stack pointer at the entry) → () to call where an exception leaves the module; absent: none. */
  readonly stackLeft?: (() => number) | undefined;
  /** Size of its memory, a multiple of 64 KiB, asked for when all functions are written. It is exported as `memshade.<name>`. */
  readonly shadowBytes: number;
  /** The name behind `memshade.` that its memory is exported by, if not its own; false: it is not exported. */
  readonly exportedMemory?: string | false;
  /** Where its memory comes from if several instances share it; undefined: from the module itself. */
  readonly sharedMemory?: { module: string; field: string } | undefined;
  /** What that memory begins with: segments of data, asked for when all functions are written. */
  data?(): readonly DataContent[];
  /** Sizes of further memories, behind that one. They are exported as `memshade.<name>.1` and so on. */
  readonly tableBytes?: readonly number[];
  /** All functions are written: the places that were marked, by file offset in the instrumented module. */
  codeWritten?(marks: CodePlaces): void;
  /** What the host must know to read that memory; asked for when all functions are written. */
  describe(): Readonly<Record<string, number | string | boolean>>;
  /** Function without parameters to run before all others; −1 or absent: there is none. */
  readonly start?: number;
  /**
   * Function without parameters to run where the host comes in: before each function that it calls, by whatever way, and
   * behind calls of the module that led out of it by reference; −1 or absent: none.
   */
  readonly entered?: number;
  /** Whether it does not matter to the tool that the host calls a function, by index. */
  readonly isQuiet?: (index: number) => boolean;
  /** What wrappers around the functions that the host may call have to keep; absent where it does not follow calls. */
  readonly followedCalls?: (FollowedCalls & { entries: EntryPoints }) | undefined;
  /** The same of a shadow stack that it keeps besides. */
  readonly followedStack?: (FollowedCalls & { entries: EntryPoints }) | undefined;
  /** Largest size of the program's memory it can follow, bytes, where it must not grow further. */
  readonly memoryLimit?: number | undefined;
  readonly carried?: CarriedWord | undefined;
  /** The shadow stack that it keeps, with frames below which blocks are asked for. */
  readonly stack?: ShadowStack | undefined;
  /** Its globals, mutable as a rule. */
  readonly globals?: readonly { type: ValType; initial: Uint8Array; mutable?: boolean }[];
  /** Globals for the host, exported as `memshade.<name>`. */
  readonly globalExports?: readonly { name: string; index: number }[];
  /** Whether the program's memory is exported too, as `memshade.program`. */
  readonly exportsProgram?: boolean;
  /** Functions that the host may call, exported as `memshade.<name>.<key>`. */
  readonly exports?: Readonly<Record<string, number>>;
  /** What is called for `memory.copy` and the like; absent: these instructions stay as they are. */
  readonly listeners?: MemoryListeners;
  /** What is called when blocks are handed out, moved or given back. */
  readonly allocations?: AllocationListeners | undefined;
  /** Tables that the module's description tells of by themselves. */
  readonly tables?: ShadowTables;
  /** A tool that records blocks with their contexts; at most one of a module's. */
  readonly recorder?: BlockRecorder | undefined;
  /** It sees objects that the engine allocates. */
  readonly seesEngine?: true;
  /** Sentences: what it does not see in this module. */
  readonly notTracked: readonly string[];
}

/**
 * A tool that finds nothing to follow in a module gives the reason as a sentence; undefined where the allocator's
 * description gives it.
 */
export type WeaveTool = (around: ToolSurroundings) => WovenTool | string | undefined;
