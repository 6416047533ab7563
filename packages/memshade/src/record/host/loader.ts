/**
 * Reads the profile of a module made by `memshade instrument`, in hosts other than `memshade run` and `memshade node`.
 * Needs only WebAssembly and ES modules; uses nothing of Node.
 * @module memshade/loader
 */

import type { RunEnd } from "../../profile/model/run.ts";
import { SHADOW_MEMORY } from "../tools/host-interface.ts";
import type { InstrumentedInfo } from "../tools/index.ts";
import { objectsOptionsOf } from "../tools/objects/memory-plan.ts";
import type { ToolOptions } from "../tools/run-options.ts";
import type { InstanceHandle } from "../tools/session.ts";
import { holdMemory } from "../tools/waste/read/held-memory.ts";
import { canBeCalled, connectHost, settleObjects } from "./instance/host-calls.ts";
import { type GuardedImports, guardImports } from "./instance/host-frames.ts";
import { HostStacks } from "./instance/host-stacks.ts";
import { knownScripts } from "./instance/known-scripts.ts";
import { isOwnScript } from "./instance/own-scripts.ts";
import { findReachNow } from "./instance/wasm-frames.ts";
import { customSectionsOf } from "./module/custom-sections.ts";
import { avoidFastCalls } from "./module/engine-flags.ts";
import { type Profile, Recorder, UNKNOWN_MODULE } from "./run/recorder.ts";

export type { GuardedImports } from "./instance/host-frames.ts";
export { type Profile, type ProfileFile, profileFiles } from "./run/recorder.ts";

// Set when this file is loaded, which is before the host instantiates the module.
avoidFastCalls();

export interface LoaderOptions {
  /** Bytes of the module before it was instrumented. Without them frames have no function names. */
  original?: Uint8Array;
  /** Short name of the program in the profile. Default: the module's name. */
  program?: string;
  /** Program and arguments in the profile. */
  command?: readonly string[];
  /** Version of the raw MemProf file: 4 (default), 5 or 3. */
  rawVersion?: 3 | 4 | 5;
}

/**
 * Guards the host functions among the imports of an instrumented module. Instantiate it with the `imports` of the
 * result and call its `connect` with the instance's exports. Needed only if the program continues after a trap that
 * passed through host functions; the calling contexts of later entries would begin at the wrong call otherwise.
 * Undefined: nothing to guard.
 */
export function guardHostFunctions(
  imports: WebAssembly.Imports,
  module: WebAssembly.Module,
): GuardedImports | undefined {
  const info = readInfo(module);
  const hold = holdMemory(imports, info);
  const guarded = guardImports(imports, WebAssembly.Module.imports(module), info);
  if (hold === undefined) return guarded;
  return {
    imports: guarded?.imports ?? imports,
    connect(exports) {
      guarded?.connect(exports);
      hold(exports);
    },
    visible: (name, value) => guarded?.visible(name, value) ?? value,
  };
}

/** Running instance whose recording can be read. */
export interface WatchedInstance {
  /** Returns the profile up to now. May be called at any time and any number of times. */
  readProfile(end?: RunEnd): Profile;
  /** Removes the blocks that have ended so far. */
  reset(): void;
}

/** Instrumented module as compiled code or as bytes. */
export type InstrumentedSource = WebAssembly.Module | Uint8Array;

/**
 * Connects an instance. Call it before the program runs: from then on full tables are emptied in time.
 *
 * @param module the instrumented module, compiled or as bytes.
 * @throws TypeError when the instance or the module was not instrumented.
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { instrument, watchInstance } from "memshade";
 *
 * const { bytes } = instrument(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
 * const { instance } = await WebAssembly.instantiate(bytes);
 * const watched = watchInstance(instance, bytes);
 * // … the program runs …
 * assert.equal(watched.readProfile().run.heap?.allocations, 0);
 * ```
 */
export function watchInstance(
  instance: { readonly exports: WebAssembly.Exports },
  module: InstrumentedSource,
  options: LoaderOptions = {},
): WatchedInstance {
  const info = readInfo(module);
  const recorder = newRecorder(info, options);
  let handle: InstanceHandle | undefined;
  const memories = connectHost(instance.exports, info, {
    flush: () => handle !== undefined && recorder.flush(handle),
    stacks: new HostStacks({
      send: (news) => recorder.learnStacks(0, news),
      sourceOf: knownScripts()?.sourceOf,
      isOurs: isOwnScript,
    }),
  });
  if (memories.heap === undefined && info.layout !== undefined)
    throw new TypeError(`the instance does not export ${SHADOW_MEMORY}`);
  handle = recorder.addInstance(memories, info, options.original ?? UNKNOWN_MODULE, null);
  recorder.setReachSearch(handle, () => findReachNow(instance.exports, info, options.original));
  if (!canBeCalled())
    recorder.note(
      "the host compiles no modules while it runs: nobody is asked who called, there is no clock, and tables that are full stay full",
    );
  return {
    readProfile: (end = { kind: "dump" }) => {
      settleObjects();
      return recorder.takeProfile(end);
    },
    reset: () => recorder.reset(),
  };
}

/** Returns the profile of an instance that was not connected while it ran: the current contents of its tables. */
export function readProfile(
  instance: { readonly exports: WebAssembly.Exports },
  module: InstrumentedSource,
  options: LoaderOptions = {},
): Profile {
  return watchInstance(instance, module, options).readProfile({ kind: "exit", exitCode: 0 });
}

/**
 * Returns the profile in a copy of the shadow memory, for hosts that are not written in JavaScript: they save the
 * exported memory `memshade.memory` to a file when the program has ended.
 */
export function readProfileFromImage(
  image: Uint8Array | WebAssembly.Memory,
  module: InstrumentedSource,
  options: LoaderOptions = {},
): Profile {
  const info = readInfo(module);
  const recorder = newRecorder(info, options);
  const memory =
    image instanceof Uint8Array ? ({ buffer: new Uint8Array(image).buffer } as WebAssembly.Memory) : image;
  if (info.layout !== undefined && memory.buffer.byteLength !== info.layout.endBytes) {
    const { byteLength } = memory.buffer;
    throw new TypeError(
      `the image has ${byteLength} bytes, the shadow memory of this module ${info.layout.endBytes}`,
    );
  }
  const handle = recorder.addInstance({ heap: memory }, info, options.original ?? UNKNOWN_MODULE, null);
  recorder.setReach(handle, { unknown: "the copy of the tables has not the program's own memory" });
  return recorder.takeProfile({ kind: "exit", exitCode: 0 });
}

function readInfo(module: InstrumentedSource): InstrumentedInfo {
  const [section] =
    module instanceof Uint8Array
      ? customSectionsOf(module, "memshade")
      : WebAssembly.Module.customSections(module, "memshade");
  if (section === undefined)
    throw new TypeError("the module was not made by memshade: it has no memshade section");
  return JSON.parse(new TextDecoder().decode(section)) as InstrumentedInfo;
}

function newRecorder(info: InstrumentedInfo, options: LoaderOptions): Recorder {
  const objects = objectsOptionsOf(info);
  const tools: ToolOptions = {
    tools: info.tools,
    clock: info.clock,
    exactHistogram: info.counters === "exact",
    includeStack: info.includeStack,
    includeAllocator: info.includeAllocator,
    rawVersion: options.rawVersion,
    ...(objects === undefined ? {} : { objects }),
  };
  const program = options.program ?? info.name;
  return new Recorder({
    tools,
    command: options.command ?? [program],
    program,
    describeFrame: knownScripts()?.describer(),
  });
}
