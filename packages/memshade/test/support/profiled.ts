import { readRaw, writeRaw } from "../../src/profile/formats/memprof-raw/index.ts";
import type { Mib } from "../../src/profile/model/mib.ts";
import type { RunModule, RunSite } from "../../src/profile/model/run.ts";
import { connectHost } from "../../src/record/host/instance/host-calls.ts";
import { guardImports } from "../../src/record/host/instance/host-frames.ts";
import { HeapSession, type HeapSnapshot } from "../../src/record/tools/heap/read/heap-session.ts";
import { SHADOW_MEMORY } from "../../src/record/tools/host-interface.ts";
import { type InstrumentedInfo, type InstrumentOptions, instrument } from "../../src/record/tools/index.ts";
import { RecordedModules } from "../../src/record/tools/recorded-modules.ts";
import type { InstanceHandle } from "../../src/record/tools/session.ts";

export interface ProfiledContext {
  stack: string[];
  offsets: number[];
  module: number;
  mib: Mib;
  site: RunSite;
}

export interface ProfiledOptions {
  options?: InstrumentOptions;
  /** Creates the imports; its argument returns the exports once they exist. */
  imports?: (exports: () => Record<string, (...operands: unknown[]) => unknown>) => WebAssembly.Imports;
  session?: RecordedHeap;
  /** True if the host flushes tables that are full. Default: true. */
  host?: boolean;
  name?: string;
}

export type RecordedSnapshot = HeapSnapshot & { modules: RunModule[] };

/** A session of the heap with the modules of its run. */
export class RecordedHeap extends HeapSession {
  readonly #modules = new RecordedModules();

  add(memory: WebAssembly.Memory | undefined, info: InstrumentedInfo, original: Uint8Array): InstanceHandle {
    const handle = this.#modules.add(info, original, null);
    if (memory !== undefined) this.addInstance(handle, memory, info);
    return handle;
  }

  now(): RecordedSnapshot {
    const modules = this.#modules.describe();
    const snapshot = this.figures({ modules, recorded: this.#modules.all });
    return {
      ...snapshot,
      modules: modules.map((module, index) => ({ ...module, ...snapshot.found[index] })),
    };
  }
}

export function newSession(options: InstrumentOptions = {}): RecordedHeap {
  return new RecordedHeap({
    clock: options.clock ?? "virtual",
    rawVersion: 4,
    counters: options.exactHistogram ? "exact" : "merged",
    includeStack: options.includeStack ?? false,
    includeAllocator: options.includeAllocator ?? false,
  });
}

interface Compiled {
  module: WebAssembly.Module;
  info: InstrumentedInfo;
}

const known = new WeakMap<Uint8Array, Map<string, Compiled>>();

/** Many tests make many instances of one module: each module is instrumented once per set of options. */
function compiled(bytes: Uint8Array, options: InstrumentOptions): Compiled {
  const byOptions = known.get(bytes) ?? new Map<string, Compiled>();
  known.set(bytes, byOptions);
  const key = JSON.stringify(options);
  let found = byOptions.get(key);
  if (found === undefined) {
    const { bytes: rewritten, info } = instrument(bytes, options);
    found = { module: new WebAssembly.Module(rewritten as BufferSource), info };
    byOptions.set(key, found);
  }
  return found;
}

/** An instance of a module whose heap is profiled in this thread. */
export class Profiled {
  readonly info: InstrumentedInfo;
  readonly session: RecordedHeap;
  readonly handle: InstanceHandle;
  readonly exports: Record<string, (...operands: unknown[]) => unknown>;
  readonly shadow: WebAssembly.Memory;
  /** Number of times that the tables were full. */
  flushes = 0;

  constructor(bytes: Uint8Array, profiled: ProfiledOptions = {}) {
    const options = { name: profiled.name ?? "module", ...profiled.options };
    const { module, info } = compiled(bytes, options);
    this.info = info;
    this.session = profiled.session ?? newSession(options);
    let exports: WebAssembly.Exports | undefined;
    const imports = profiled.imports?.(() => exports as never);
    const guarded = guardImports(imports, WebAssembly.Module.imports(module), info);
    exports = new WebAssembly.Instance(module, guarded?.imports ?? imports).exports;
    guarded?.connect(exports);
    this.exports = exports as never;
    const flush = () => {
      this.flushes++;
      this.session.flush(this.handle);
    };
    this.shadow = exports[SHADOW_MEMORY] as WebAssembly.Memory;
    if (profiled.host !== false) connectHost(exports, info, { flush });
    this.handle = this.session.add(this.shadow, info, bytes);
  }

  call(name: string, ...operands: unknown[]): unknown {
    return this.exports[name](...operands);
  }

  snapshot(): RecordedSnapshot {
    return snapshotOf(this.session);
  }

  get heap(): HeapSnapshot["heap"] {
    return this.snapshot().heap;
  }

  contexts(): ProfiledContext[] {
    return contextsOf(this.snapshot());
  }

  /** Number of allocations per stack, "innermost < … < outermost". */
  stacks(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { stack, mib } of this.contexts()) {
      const path = stack.join(" < ");
      counts[path] = (counts[path] ?? 0) + mib.allocCount;
    }
    return counts;
  }

  only(): ProfiledContext {
    const contexts = this.contexts();
    if (contexts.length !== 1) throw new RangeError(`${contexts.length} contexts where one was expected`);
    return contexts[0];
  }
}

export function snapshotOf(session: RecordedHeap): RecordedSnapshot {
  return session.now();
}

export function contextsOf({ raw, modules, heap }: RecordedSnapshot): ProfiledContext[] {
  const sites = new Map(heap.sites.map((site) => [site.stackId, site]));
  return readRaw(writeRaw(raw, raw.version)).contexts.map(({ stackId, mib, pcs }) => {
    const offsets = pcs.map((pc) => Number(pc & 0xffffffffn));
    const module = Number((pcs[0] ?? 0n) >> 32n);
    const nameAt = (offset: number) => {
      const found = modules[module].functions.find((f) => f.offset <= offset && offset < f.end);
      return found?.name ?? `function ${found?.index}`;
    };
    return { stack: offsets.map(nameAt), offsets, module, mib, site: sites.get(String(stackId)) as RunSite };
  });
}

/** Text of a bump allocator whose blocks start at 4096, at least 16 bytes apart. It accesses no memory. */
export const BUMP = `
  (global $next (mut i32) (i32.const 4096))
  (func $malloc (export "malloc") (param $size i32) (result i32)
    (global.get $next)
    (global.set $next (i32.add (global.get $next) (i32.and (i32.add (local.get $size) (i32.const 31)) (i32.const -16)))))
  (func $free (export "free") (param i32))`;
