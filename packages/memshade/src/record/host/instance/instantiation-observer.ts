import type { InstrumentedInfo } from "../../tools/index.ts";
import type { SharedShadow } from "./shared-shadows.ts";

/** Engines' messages for a memory that could not be allocated. */
export const NO_ROOM = /(cannot|could not) allocate (wasm )?memory/i;

/** A rewritten module, with the data that hides the rewriting from the program. */
export interface TrackedModule {
  info: InstrumentedInfo;
  /** Identifies the module within a process. */
  key: string;
  path: string | null;
  /** Bytes of the module before instrumentation. Undefined if another thread compiled it. */
  original: Uint8Array | undefined;
  /** Text of the scripts around the module, which may contain names of its exports. */
  glue?: string;
}

/** A module after rewriting. Its bytes are needed only until they are compiled. */
export interface RewrittenModule {
  bytes: Uint8Array;
  tracked: TrackedModule;
}

/** Interface of the recorder. None of the functions may throw. */
export interface InstantiationObserver {
  /**
   * Rewrites a module before it is compiled. Returns undefined to leave it unchanged.
   *
   * @param address source of the bytes (`Response.url`), if known.
   */
  rewrite(bytes: Uint8Array, address: string | undefined): RewrittenModule | undefined;
  /**
   * Rewrites a module for a program that waits for a promise anyway. Returns undefined to leave the module unchanged. If
   * this function is absent, `rewrite` is called.
   *
   * @param caller the result of `caller` when the program requested the module.
   */
  rewriteLater?(
    bytes: Uint8Array,
    address: string | undefined,
    caller: readonly string[] | undefined,
  ): Promise<RewrittenModule | undefined> | undefined;
  /** Returns the calling scripts, innermost first. */
  caller?(): readonly string[];
  /** Returns memory for a copy of a module's bytes. Default: memory of this thread alone. */
  roomFor?(length: number): Uint8Array;
  /** Called if the rewritten module does not compile or cannot be instantiated. The original is used instead. */
  rejected(module: TrackedModule, error: unknown): void;
  /** Rewrites a module again if its tools cannot follow the memory that it imports. Returns undefined if they can. */
  rewriteFor(module: TrackedModule, imports: WebAssembly.Imports): RewrittenModule | undefined;
  /** Returns a number for the stack that requests an instance, below the called function. `instantiated` receives it. */
  maker?(below: unknown): number;
  /**
   * Called after a rewritten module was instantiated. `exports`: all of its exports, hidden ones included. `group`: name of
   * the tables that the instance shares with other instances.
   */
  instantiated(exports: WebAssembly.Exports, module: TrackedModule, group?: string, maker?: number): void;
  /** Returns the shadow memory to import, for all instances of a module with this memory. */
  sharedShadow(program: WebAssembly.Memory, module: TrackedModule): SharedShadow | undefined;
  /** Reads the section that memshade has added to a module, for a module that another thread compiled. */
  recognize(section: ArrayBuffer): TrackedModule | undefined;
}
