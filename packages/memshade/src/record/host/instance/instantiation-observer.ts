import type { InstrumentedInfo } from "../../tools/index.ts";
import type { SharedShadow } from "./shared-shadows.ts";

/** In the engine's words: a memory was not to be had. */
export const NO_ROOM = /(cannot|could not) allocate (wasm )?memory/i;

/** A module that was rewritten, with what is needed to hide that from the program. */
export interface TrackedModule {
  info: InstrumentedInfo;
  /** Names one module within a process. */
  key: string;
  path: string | null;
  /** Bytes of the module before instrumentation; unknown when another thread compiled it. */
  original: Uint8Array | undefined;
  /** Text of the scripts around it, where names of its exports can be found. */
  glue?: string;
}

/** The outcome of rewriting; its bytes are needed only until they are compiled. */
export interface RewrittenModule {
  bytes: Uint8Array;
  tracked: TrackedModule;
}

/** The side of the recorder. None of the functions may throw. */
export interface InstantiationObserver {
  /**
   * Rewrites a module about to be compiled. Undefined: leave it alone.
   *
   * @param address where the bytes came from, if that is known (`Response.url`).
   */
  rewrite(bytes: Uint8Array, address: string | undefined): RewrittenModule | undefined;
  /**
   * As `rewrite`, for a program that waits for a promise anyway; undefined: the module is left alone. Where there is no such function,
   * `rewrite` is asked.
   *
   * @param caller what `caller` has said when the program asked for the module.
   */
  rewriteLater?(
    bytes: Uint8Array,
    address: string | undefined,
    caller: readonly string[] | undefined,
  ): Promise<RewrittenModule | undefined> | undefined;
  /** The scripts that have called, innermost first. */
  caller?(): readonly string[];
  /** Where the bytes of a module are copied to; by default to memory of this thread alone. */
  roomFor?(length: number): Uint8Array;
  /** The rewritten module does not compile, or cannot run with its imports; the original does. */
  rejected(module: TrackedModule, error: unknown): void;
  /** Rewrites a module anew, where the tools in it cannot follow the memory that it is to import. Undefined: they can. */
  rewriteFor(module: TrackedModule, imports: WebAssembly.Imports): RewrittenModule | undefined;
  /** A number for the code that asks for an instance, below the function that it has called; `instantiated` gets it. */
  maker?(below: unknown): number;
  /**
   * A rewritten module has been instantiated. `exports` are all of its exports, hidden ones included; `group` names the
   * tables that it shares with other instances.
   */
  instantiated(exports: WebAssembly.Exports, module: TrackedModule, group?: string, maker?: number): void;
  /** The shadow memory, for all instances of a module with this memory, to be imported by one that wants it so. */
  sharedShadow(program: WebAssembly.Memory, module: TrackedModule): SharedShadow | undefined;
  /** What an instrumented module that another thread compiled says of itself. */
  recognize(section: ArrayBuffer): TrackedModule | undefined;
}
