import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { followedMemory } from "../../tools/followed-memory.ts";
import type { InstrumentedInfo, ShadowLayout } from "../../tools/index.ts";
import type { ToolOptions } from "../../tools/run-options.ts";
import type { SharedPlace } from "../../tools/session.ts";
import { wasteDescription } from "../../tools/waste/description.ts";
import { memoryBeyond } from "../../tools/waste/read/held-memory.ts";
import { settleFinalizers, watchFinalizers } from "../instance/finalizers.ts";
import { connectHost, localNumber, type ShadowMemories, settleObjects } from "../instance/host-calls.ts";
import { HostStacks } from "../instance/host-stacks.ts";
import type {
  InstantiationObserver,
  RewrittenModule,
  TrackedModule,
} from "../instance/instantiation-observer.ts";
import { isOwnScript } from "../instance/own-scripts.ts";
import type { SharedShadow } from "../instance/shared-shadows.ts";
import { findReachNow } from "../instance/wasm-frames.ts";
import { describePreambleProblem } from "../module/module-file.ts";
import { ModuleWeaver, moduleKey } from "../module/module-weaver.ts";
import { nativeSha256Hex } from "../module/native-sha256.ts";
import { addressShortage } from "../run/address-room.ts";
import { describeThrown } from "../run/run-end.ts";
import { say } from "../run/terminal-line.ts";
import { threadMs } from "../run/thread-time.ts";
import { isNodeItself, knownSource, readGlue, scriptsOnStack, toPath } from "./call-site.ts";
import { MadeInstances } from "./made-instances.ts";
import type { RecordingMessage } from "./recording/messages.ts";

/** Most entries of a folder that is searched. */
const ENTRIES_LIMIT = 2000;

/**
 * Finds the file from which a module was loaded, since a program only passes bytes. Searches by content in the folders
 * of the scripts that compiled it, their parents, and the working directory.
 */
export function findModuleFile(
  bytes: Uint8Array,
  scripts: readonly string[],
  address: string | undefined,
  glue: string,
): string | null {
  if (address?.startsWith("file:")) return toPath(address) ?? null;
  const folders = new Set<string>();
  for (const script of scripts) {
    if (script.startsWith("node:")) continue;
    const folder = dirname(resolve(script));
    folders.add(folder);
    folders.add(dirname(folder));
  }
  folders.add(process.cwd());
  for (const folder of folders) {
    const found = wasmFilesIn(folder).filter((path) => hasContents(path, bytes));
    // Packages ship copies under several names; the glue contains one of them.
    if (found.length > 0) return found.find((path) => glue.includes(basename(path))) ?? found[0];
  }
  return null;
}

function wasmFilesIn(folder: string): string[] {
  try {
    const names = readdirSync(folder);
    if (names.length > ENTRIES_LIMIT) return [];
    return names.filter((name) => name.endsWith(".wasm")).map((name) => join(folder, name));
  } catch {
    return [];
  }
}

function hasContents(path: string, bytes: Uint8Array): boolean {
  try {
    return statSync(path).size === bytes.length && Buffer.compare(readFileSync(path), bytes) === 0;
  } catch {
    return false;
  }
}

/** Connection from one thread of the program to the recording thread. */
export interface RecordingLink {
  readonly thread: number;
  post(message: RecordingMessage): void;
  /**
   * Returns the shadow memory of all instances of a module on this memory. Undefined: the recording thread does not
   * answer.
   */
  sharedShadow(
    program: WebAssembly.Memory,
    moduleKey: string,
    info: InstrumentedInfo,
  ): SharedShadow | undefined;
  /** Adds the time that this thread took to rewrite a module. */
  rewrote(ms: number): void;
  /** Requests that tables be emptied, and waits until that is done. */
  flush(id: string): void;
}

// Copy of a function that programs may replace.
const { validate } = WebAssembly;

/** Most rewritten modules that are cached for programs that compile the same bytes again. They may be collected. */
const CACHED_MODULES = 8;

/** Most instances of a thread whose live blocks are searched: they are kept, and so never collected. */
const KEPT_INSTANCES = 8;
const NOT_KEPT = { unknown: `of a thread, the first ${KEPT_INSTANCES} instances are looked through` };
const HAS_LIBRARIES = { unknown: "libraries were loaded into the memory, whose variables are not known" };

/** Observes the modules that one thread compiles and instantiates, and reports them to the recording thread. */
export class ThreadRecorder implements InstantiationObserver {
  readonly #weaver: ModuleWeaver;
  readonly #link: RecordingLink;
  readonly #cache = new Map<string, WeakRef<RewrittenModule>>();
  readonly #anew = new WeakMap<TrackedModule, RewrittenModule>();
  readonly #givenUp = new Set<string>();
  readonly #gone: FinalizationRegistry<string>;
  readonly #stacks: HostStacks;
  readonly #made: MadeInstances;
  #instances = 0;
  readonly #kept: (Pick<TrackedModule, "info" | "original"> & {
    id: string;
    exports: WebAssembly.Exports;
  })[] = [];
  #hasLibraries = false;
  #beside: ShadowLayout | undefined;

  constructor(tools: ToolOptions, link: RecordingLink) {
    this.#weaver = new ModuleWeaver(
      tools,
      (mismatch) => link.post({ kind: "allocator-option", ...(mismatch === undefined ? {} : { mismatch }) }),
      (path, bytes) => link.post({ kind: "rewritten", path, bytes: this.#shared(bytes) }),
    );
    this.#link = link;
    this.#stacks = new HostStacks({
      send: (news) => link.post({ kind: "stacks", thread: link.thread, news }),
      sourceOf: knownSource,
      isOurs: isOwnScript,
    });
    this.#made = new MadeInstances(
      () => this.#stacks.isInProgram(),
      (id) => link.post({ kind: "dropped", id }),
    );
    this.#gone = new FinalizationRegistry((id) => link.post({ kind: "released", id }));
  }

  rewrite(bytes: Uint8Array, address: string | undefined): RewrittenModule | undefined {
    if (describePreambleProblem(bytes) !== undefined) return undefined;
    const key = nativeSha256Hex(bytes);
    const cached = this.#cache.get(key)?.deref();
    if (cached !== undefined) return cached;
    const scripts = scriptsOnStack();
    if (isNodeItself(scripts)) return undefined;
    return this.#timed(() => this.#rewrite(bytes, key, address, scripts));
  }

  #rewrite(
    bytes: Uint8Array,
    key: string,
    address: string | undefined,
    scripts: readonly string[],
  ): RewrittenModule | undefined {
    const glue = readGlue(scripts);
    const path = findModuleFile(bytes, scripts, address, glue);
    let name: string | undefined;
    try {
      name = this.#weaver.nameOf(bytes, { path, address, scripts });
      const script = path === null ? scripts.find((one) => !one.startsWith("node:")) : undefined;
      const isValid = (): boolean => validate(bytes as BufferSource);
      const module = this.#weaver.first(bytes, name, {
        key,
        path,
        script,
        glue,
        beside: this.#beside,
        isValid,
      });
      const { info } = module.tracked;
      this.#remember(key, module);
      // Sent now, since another thread may instantiate the module.
      this.#link.post({ kind: "module", key: moduleKey(info), original: bytes });
      return module;
    } catch (error) {
      // The engine reports invalid bytes to the program.
      if (validate(bytes as BufferSource)) this.#giveUp(name, key, error);
      return undefined;
    }
  }

  /** Shared memory, since the recording thread gets the bytes too. */
  roomFor(length: number): Uint8Array {
    return new Uint8Array(new SharedArrayBuffer(length));
  }

  /** Returns a copy for the recording thread. */
  #shared(bytes: Uint8Array): Uint8Array {
    const copy = this.roomFor(bytes.length);
    copy.set(bytes);
    return copy;
  }

  #timed<T>(rewrite: () => T): T {
    const start = threadMs();
    try {
      return rewrite();
    } finally {
      this.#link.rewrote(threadMs() - start);
    }
  }

  rewriteFor(module: TrackedModule, imports: WebAssembly.Imports): RewrittenModule | undefined {
    const { info, original, glue = "" } = module;
    if (original === undefined || wasteDescription(info) === undefined) return undefined;
    const given = () => followedMemory(info, imports, undefined)?.buffer.byteLength ?? 0;
    const reason = memoryBeyond(imports, info) ?? this.#weaver.shortage("The memory from outside has", given);
    if (reason === undefined) return undefined;
    const anew =
      this.#anew.get(module) ??
      this.#timed(() =>
        this.#weaver.weave(original, info.name, {
          ...module,
          script: info.script,
          glue,
          beside: this.#beside,
          reason,
          isValid: () => true,
        }),
      );
    this.#anew.set(module, anew);
    return anew;
  }

  rejected(module: TrackedModule, error: unknown): void {
    this.#cache.delete(module.key);
    this.#giveUp(module.info.name, module.key, error);
  }

  recognize(section: ArrayBuffer): TrackedModule | undefined {
    try {
      const info = JSON.parse(new TextDecoder().decode(section)) as InstrumentedInfo;
      return { info, key: moduleKey(info), path: null, original: undefined };
    } catch {
      return undefined;
    }
  }

  sharedShadow(program: WebAssembly.Memory, { info }: TrackedModule): SharedShadow | undefined {
    return this.#link.sharedShadow(program, moduleKey(info), info);
  }

  maker(below: unknown): number {
    return this.#stacks.numberBelow(below);
  }

  instantiated(exports: WebAssembly.Exports, module: TrackedModule, group?: string, maker?: number): void {
    try {
      this.#report(exports, module, group, maker);
    } catch (error) {
      this.#giveUp(module.info.name, module.key, error);
    }
  }

  #report(
    exports: WebAssembly.Exports,
    module: TrackedModule,
    group: string | undefined,
    maker: number | undefined,
  ): void {
    const { info, path } = module;
    if (info.layout !== undefined && !info.sharedMemory) this.#beside = info.layout;
    const id = this.#nextId();
    const memories = connectHost(exports, info, {
      flush: () => this.#link.flush(id),
      stacks: this.#stacks,
    });
    if (memories.heap !== undefined) watchFinalizers(memories.heap, info);
    const place = group === undefined ? undefined : { group, local: localNumber(exports) };
    const hidden = new Set(info.hiddenExports);
    const visible = Object.fromEntries(Object.entries(exports).filter(([name]) => !hidden.has(name)));
    const isFollowed = maker !== undefined && this.#made.add(id, visible);
    this.#postInstance(memories, info, path, place, id, isFollowed ? maker : undefined);
    this.#keep(id, exports, module);
    // If the recording thread keeps the time, it must begin before the program continues.
    if (isTimed(info)) this.#link.flush(id);
    // The instance object may be collected while its functions still run. The memory inside it goes with the last of
    // them.
    const [memory] = Object.values(memories);
    if (memory !== undefined) this.#gone.register(memory, id);
  }

  #keep(id: string, exports: WebAssembly.Exports, { info, original }: TrackedModule): void {
    if (info.beside !== undefined) this.#hasLibraries = true;
    if (info.roots === undefined) return;
    if (this.#kept.length < KEPT_INSTANCES) this.#kept.push({ id, exports, info, original });
    else this.#link.post({ kind: "reach", id, reach: NOT_KEPT });
  }

  /**
   * Determines for the next profile which live blocks of this thread's instances are reachable, and which objects are
   * gone.
   */
  findReach(): void {
    settleFinalizers();
    const kept = this.#made.kept();
    if (kept !== undefined) this.#link.post({ kind: "kept", thread: this.#link.thread, kept });
    settleObjects();
    for (const { id, exports, info, original } of this.#kept)
      this.#link.post({
        kind: "reach",
        id,
        reach: this.#hasLibraries ? HAS_LIBRARIES : findReachNow(exports, info, original),
      });
  }

  #nextId(): string {
    return `${this.#link.thread}:${++this.#instances}`;
  }

  #postInstance(
    memories: ShadowMemories,
    info: InstrumentedInfo,
    path: string | null,
    place: SharedPlace | undefined,
    id = this.#nextId(),
    maker?: number,
  ): void {
    const { thread } = this.#link;
    this.#link.post({
      kind: "instance",
      id,
      thread,
      moduleKey: moduleKey(info),
      memories,
      info,
      path,
      place,
      maker,
    });
  }

  #giveUp(name: string | undefined, key: string, error: unknown): void {
    if (this.#givenUp.has(key)) return;
    this.#givenUp.add(key);
    const reason = addressShortage(String(error))?.message ?? describeThrown(error);
    const sentence = `${name ?? "a module"} runs without being profiled: ${reason}`;
    say(sentence);
    this.#link.post({ kind: "note", sentence });
  }

  #remember(key: string, module: RewrittenModule): void {
    if (this.#cache.size >= CACHED_MODULES) this.#cache.delete(this.#cache.keys().next().value!);
    this.#cache.set(key, new WeakRef(module));
  }
}

/** True if intervals of working sets are measured in time, which another thread provides. */
function isTimed({ toolLayouts }: InstrumentedInfo): boolean {
  const unit = toolLayouts?.workingset?.unit;
  return unit !== undefined && unit !== "accesses";
}
