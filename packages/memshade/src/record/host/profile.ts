import type { Run, RunEnd } from "../../profile/model/run.ts";
import { type InstrumentedInfo, instrument } from "../tools/index.ts";
import { type ToolOptions, toInstrumentOptions } from "../tools/run-options.ts";
import type { InstanceHandle } from "../tools/session.ts";
import { holdMemory } from "../tools/waste/read/held-memory.ts";
import { connectHost, settleObjects } from "./instance/host-calls.ts";
import { type GuardedImports, guardImports } from "./instance/host-frames.ts";
import { HostStacks } from "./instance/host-stacks.ts";
import { knownScripts } from "./instance/known-scripts.ts";
import { isOwnScript } from "./instance/own-scripts.ts";
import { noteSuspending } from "./instance/suspending-imports.ts";
import { findReachNow } from "./instance/wasm-frames.ts";
import { withEngineFlags } from "./module/engine-flags.ts";
import { moduleName } from "./module/module-name.ts";
import { type Profile, Recorder } from "./run/recorder.ts";
import { describeEnd, describeThrown } from "./run/run-end.ts";

export interface ProfileOptions extends ToolOptions {
  /** Name of the module and of the program in the profile. Default: derived from the module, such as `draw#1f8ea2`. */
  name?: string | undefined;
  /** Source text of the module's JavaScript glue, which contains the names of minified exports. */
  glue?: string | undefined;
}

/** Creates an instance of the profiled module. May be called more than once. */
export type Instantiate = (imports?: WebAssembly.Imports) => Promise<WebAssembly.Instance>;

/** Recording of a running `profile()` call. */
export interface Recording {
  /** Returns the profile up to now, including blocks that are live. */
  dump(): Profile;
  /** Removes the blocks that have ended so far. Leaves a warm-up out of the profile. */
  reset(): void;
}

/** Result of `profile()`: the profile, and the return value of the callback. */
export interface ProfileResult<T> extends Profile {
  value: T;
}

/** Thrown if the callback of `profile()` failed. `cause` is its error, `profile` the recording up to then. */
export class ProfiledError extends Error {
  /** Not enumerable, since printing the error would print all bytes of the profile. */
  declare readonly profile: Profile;

  constructor(cause: unknown, profile: Profile) {
    super(`the profiled program failed: ${describeThrown(cause)}`, { cause });
    Object.defineProperties(this, { name: { value: "ProfiledError" }, profile: { value: profile } });
  }
}

const active: Recording[] = [];

/** Returns the recording of the last `profile()` call that is still running. */
export function activeRecording(): Recording | undefined {
  return active.at(-1);
}

/**
 * Profiles a module inside this thread.
 *
 * @param module bytes of the module.
 * @param run uses the module. It is given a function that makes instances, and the recording.
 * @throws FormatError for bytes that are no module; UserError for options that do not fit it; ProfiledError when
 *   `run` fails.
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { profile, profileFiles } from "memshade";
 *
 * const empty = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
 * const recorded = await profile(empty, async (instantiate) => {
 *   await instantiate();
 *   return "done";
 * });
 * assert.equal(recorded.value, "done");
 * assert(profileFiles(recorded).some(({ name }) => name === "run.json"));
 * ```
 */
export async function profile<T>(
  module: Uint8Array | ArrayBuffer,
  run: (instantiate: Instantiate, recording: Recording) => T | Promise<T>,
  options: ProfileOptions = {},
): Promise<ProfileResult<T>> {
  const original = module instanceof Uint8Array ? module : new Uint8Array(module);
  const name = options.name ?? moduleName(original, {});
  const { bytes, info } = instrument(original, {
    ...toInstrumentOptions(options),
    hostStacks: options.hostStacks ?? "sampled",
    name,
    ...(options.glue === undefined ? {} : { glue: options.glue }),
    // Engines collect garbage because of gigabytes that are not shared, although few of their pages are used.
    sharedShadow: typeof SharedArrayBuffer === "function",
  });
  const recorder = new Recorder({
    tools: options,
    command: [name],
    program: name,
    observesHost: true,
    describeFrame: knownScripts()?.describer(),
  });
  const stacks = new HostStacks({
    send: (news) => recorder.learnStacks(0, news),
    sourceOf: knownScripts()?.sourceOf,
    isOurs: isOwnScript,
  });
  const compiled = await withEngineFlags(() => WebAssembly.compile(bytes as BufferSource));
  noteSuspending(WebAssembly);
  const instantiate: Instantiate = async (imports) => {
    const hold = holdMemory(imports, info);
    const guarded = guardImports(imports, WebAssembly.Module.imports(compiled), info);
    const instance = await WebAssembly.instantiate(compiled, guarded?.imports ?? imports);
    guarded?.connect(instance.exports);
    hold?.(instance.exports);
    return record(recorder, { info, original, stacks, guarded }, instance);
  };

  const take = (end: RunEnd): Profile => {
    settleObjects();
    const taken = recorder.takeProfile(end);
    originals.set(taken.run, { name, bytes: original });
    return taken;
  };
  const recording: Recording = {
    dump: () => take({ kind: "dump" }),
    reset: () => recorder.reset(),
  };
  active.push(recording);
  try {
    const value = await run(instantiate, recording);
    // The engine keeps objects that the program has used until the end of its task.
    if (info.toolLayouts?.objects !== undefined) await new Promise((done) => setTimeout(done));
    return { ...take({ kind: "exit", exitCode: 0 }), value };
  } catch (error) {
    throw new ProfiledError(error, take(describeEnd(error)));
  } finally {
    active.splice(active.indexOf(recording), 1);
  }
}

const originals = new WeakMap<Run, { readonly name: string; readonly bytes: Uint8Array }>();

/** Returns the original module of a run of `profile()`, which has the names and lines; undefined for other runs. */
export function originalOf(run: Run): { readonly name: string; readonly bytes: Uint8Array } | undefined {
  return originals.get(run);
}

/** State of a recorded instance. */
interface Recorded {
  info: InstrumentedInfo;
  original: Uint8Array;
  stacks: HostStacks;
  guarded: GuardedImports | undefined;
}

/** Starts to record an instance and hides the exports that instrumentation added. */
function record(
  recorder: Recorder,
  { info, original, stacks, guarded }: Recorded,
  instance: WebAssembly.Instance,
): WebAssembly.Instance {
  const { exports } = instance;
  let handle: InstanceHandle | undefined;
  const memories = connectHost(exports, info, {
    flush: () => handle !== undefined && recorder.flush(handle),
    stacks,
  });
  handle = recorder.addInstance(memories, info, original, null);
  recorder.setReachSearch(handle, () => findReachNow(exports, info, original));
  const hidden = new Set(info.hiddenExports);
  const visible: WebAssembly.Exports = Object.create(null);
  for (const key of Object.keys(exports))
    if (!hidden.has(key)) visible[key] = guarded?.visible(key, exports[key]) ?? exports[key];
  Object.defineProperty(instance, "exports", { value: Object.freeze(visible) });
  return instance;
}
