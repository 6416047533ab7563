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

/** Context in which a tool inserts itself into a module. */
export interface ToolSurroundings {
  module: WasmModule;
  options: InstrumentOptions;
  scan: ModuleScan;
  allocator: AllocatorPlan;
  appended: AppendedFunctions;
  memory: number;
  memory64: boolean;
  /** Largest size that it can reach, bytes. */
  memoryBytes: number;
  /** Global with the program's stack pointer, −1 if unknown. */
  stackPointer: number;
  shadowMemory: number;
  /** Index of the tool's first global. */
  firstGlobal: number;
  /** Shadow stack of an earlier tool, with frames for calls that may lead to an allocation. */
  stack: ShadowStack | undefined;
  /** Returns a function () → () that makes the host note the call stack, if there is a host. */
  noteStack(): number;
  /**
   * Returns a function () → () that calls another function of the host, or () → i32 that returns 1 if there
   * is a host.
   */
  callHost(slot: number, answers: boolean): number;
}

/** Tables of the heap profiler. Other modules may share them. */
export interface ShadowTables {
  layout: ShadowLayout;
  /** True if all instances that share their memory share the tables. */
  acrossThreads: boolean;
  /** True if the tables belong to the module whose memory this one uses. */
  beside: boolean;
  /** Host stacks in call paths. */
  hostStacks?: HostStacks;
  /** Start of the search for pointers to live blocks; undefined if blocks are not recorded. */
  roots?: PointerRoots | string | undefined;
  /** Static data whose counters are never cleared. */
  statics?: StaticData;
}

/** A tool that was inserted into a module. */
export interface WovenTool {
  readonly name: ToolName;
  readonly pass: ToolPass;
  /** Second pass, over the functions that `pass` follows. */
  readonly beside?: ToolPass | undefined;
  /** Code that the tool adds to functions by which the host moves the stack pointer. */
  readonly stackTakes?: ToolPass | undefined;
  /**
   * Function (stack pointer at the entry) → () to call when an exception leaves the module; absent if there
   * is none.
   */
  readonly stackLeft?: (() => number) | undefined;
  /**
   * Size of its memory, a multiple of 64 KiB; read when all functions are written. The memory is exported as
   * `memshade.<name>`.
   */
  readonly shadowBytes: number;
  /** Name of its memory's export after `memshade.`, if not the tool's; false if it is not exported. */
  readonly exportedMemory?: string | false;
  /** Import of its memory, if several instances share it. */
  readonly sharedMemory?: { module: string; field: string } | undefined;
  /** Returns data segments for its memory. Called when all functions are written. */
  data?(): readonly DataContent[];
  /** Sizes of further memories after that one. They are exported as `memshade.<name>.1` and so on. */
  readonly tableBytes?: readonly number[];
  /**
   * Receives the marked instructions, by file offset in the instrumented module, when all functions are
   * written.
   */
  codeWritten?(marks: CodePlaces): void;
  /** Describes its memory for the host. Called when all functions are written. */
  describe(): Readonly<Record<string, number | string | boolean>>;
  /** Function without parameters that runs first; −1 or absent if there is none. */
  readonly start?: number;
  /**
   * Function without parameters that runs when the host enters: before each function that the host calls, and
   * after calls by reference that left the module; −1 or absent if there is none.
   */
  readonly entered?: number;
  /** True if the tool need not be called when the host calls a function, by index. */
  readonly isQuiet?: (index: number) => boolean;
  /**
   * Calls that wrappers of the host's entry points must preserve; absent if the tool does not follow calls.
   */
  readonly followedCalls?: (FollowedCalls & { entries: EntryPoints }) | undefined;
  /** Like `followedCalls`, for a second shadow stack. */
  readonly followedStack?: (FollowedCalls & { entries: EntryPoints }) | undefined;
  /** Largest size of the program's memory that it can follow, bytes. The memory must not grow beyond it. */
  readonly memoryLimit?: number | undefined;
  readonly carried?: CarriedWord | undefined;
  /** Shadow stack of the tool, with frames for calls that may lead to an allocation. */
  readonly stack?: ShadowStack | undefined;
  /** Globals of the tool, mutable by default. */
  readonly globals?: readonly { type: ValType; initial: Uint8Array; mutable?: boolean }[];
  /** Globals for the host, exported as `memshade.<name>`. */
  readonly globalExports?: readonly { name: string; index: number }[];
  /** True if the program's memory is exported too, as `memshade.program`. */
  readonly exportsProgram?: boolean;
  /** Functions for the host, exported as `memshade.<name>.<key>`. */
  readonly exports?: Readonly<Record<string, number>>;
  /**
   * Functions called for `memory.copy` and similar instructions; absent if the tool leaves these instructions
   * as they are.
   */
  readonly listeners?: MemoryListeners;
  /** Functions called when blocks are allocated, moved or freed. */
  readonly allocations?: AllocationListeners | undefined;
  /** Tables with members of their own in the module's description. */
  readonly tables?: ShadowTables;
  /** Recorder of blocks with their contexts; one tool of a module at most has it. */
  readonly recorder?: BlockRecorder | undefined;
  /** True if it sees objects that the engine allocates. */
  readonly seesEngine?: true;
  /** Sentences about code and data that it does not see in this module. */
  readonly notTracked: readonly string[];
}

/**
 * Inserts a tool. If it finds nothing to follow, it returns the reason as a sentence; undefined if the
 * allocator's description has the reason.
 */
export type WeaveTool = (surroundings: ToolSurroundings) => WovenTool | string | undefined;
