import { entryOf } from "../../../../ground/bytes/entries.ts";
import type { InstrumentedInfo, ShadowLayout } from "../../../tools/index.ts";
import type { MemoryRange } from "../../../tools/unused-tables.ts";
import { memoryBeyond } from "../../../tools/waste/read/held-memory.ts";
import { connectHost, localNumber, type ShadowMemories, settleObjects } from "../../instance/host-calls.ts";
import { HostStacks } from "../../instance/host-stacks.ts";
import { traceBelow } from "../../instance/host-trace.ts";
import type {
  InstantiationObserver,
  RewrittenModule,
  TrackedModule,
} from "../../instance/instantiation-observer.ts";
import { type AnyFunction, replaceClass, replaceFunction } from "../../instance/replace-property.ts";
import { areSame, newShadow, type SharedShadow } from "../../instance/shared-shadows.ts";
import { AGENT_SCRIPT, type AgentSettings, PIECE_BYTES, type TableReader } from "../messages.ts";
import { type ModuleAnswers, type ModuleQuestion, type ProcessLink, randomName } from "./module-answers.ts";
import { Utf8Decoder } from "./text.ts";

/** Most instances whose live blocks are searched: their exports are kept, so these instances are never collected. */
const LOOKED_THROUGH = 8;
const NOT_LOOKED_THROUGH = {
  unknown: `of a page or worker, the first ${LOOKED_THROUGH} instances are looked through`,
};

interface Kept {
  id: number;
  exports: WebAssembly.Exports | undefined;
  original: Uint8Array | undefined;
  memories: ShadowMemories;
  info: InstrumentedInfo;
  group: string | undefined;
}

// Copies of functions that programs may replace.
const { parse } = JSON;
const { validate } = WebAssembly;
const FRAMES_READ = 40;
const HOST_TABLE = "memshade.table";

/** Observes the modules that one context compiles and instantiates, and reports them to the process. */
export class PageRecorder implements InstantiationObserver {
  readonly #link: ProcessLink;
  readonly #answers: ModuleAnswers;
  readonly #threads: Threads;
  readonly #stacks: HostStacks;
  readonly #instances = new Map<number, Kept>();
  readonly #gone: FinalizationRegistry<number>;
  readonly #anew = new WeakMap<TrackedModule, RewrittenModule>();
  #last = 0;
  #looked = 0;
  #reader: TableReader | undefined;
  /** Tables of the last instantiated module, for libraries that are loaded into its memory. */
  #beside: ShadowLayout | undefined;

  constructor(link: ProcessLink, answers: ModuleAnswers, threads: Threads) {
    this.#link = link;
    this.#threads = threads;
    this.#answers = answers;
    this.#stacks = new HostStacks({
      send: (news) => link.post({ kind: "stacks", news }),
      isOurs: isAgent,
    });
    this.#gone = new FinalizationRegistry((id) => this.#release(id));
  }

  rewrite(bytes: Uint8Array, address: string | undefined): RewrittenModule | undefined {
    if (!isWorthRewriting(bytes)) return undefined;
    const caller = this.caller();
    return this.#known(this.#answers.now(bytes, { address, caller, beside: this.#beside }));
  }

  /** Lets `Threads` prepare memories of the module for workers. */
  #known(rewritten: RewrittenModule | undefined): RewrittenModule | undefined {
    if (rewritten !== undefined) this.#threads.addModule(rewritten.tracked.info);
    return rewritten;
  }

  rewriteLater(
    bytes: Uint8Array,
    address: string | undefined,
    caller: readonly string[] = [],
  ): Promise<RewrittenModule | undefined> | undefined {
    if (!isWorthRewriting(bytes)) return undefined;
    return this.#later(bytes, { address, caller, beside: this.#beside });
  }

  async #later(bytes: Uint8Array, question: ModuleQuestion): Promise<RewrittenModule | undefined> {
    return this.#known(await this.#answers.later(bytes, question));
  }

  caller(): string[] {
    const frames = traceBelow(this.caller, FRAMES_READ)?.frames ?? [];
    const scripts = frames.flatMap(({ script }) => (script === undefined || isAgent(script) ? [] : script));
    return [...new Set(scripts)];
  }

  rejected({ key, info: { name } }: TrackedModule, error: unknown): void {
    this.#link.post({ kind: "rejected", key, name, reason: String(error).split("\n", 1)[0] });
  }

  rewriteFor(module: TrackedModule, imports: WebAssembly.Imports): RewrittenModule | undefined {
    const { info, original } = module;
    const reason = memoryBeyond(imports, info);
    if (original === undefined || reason === undefined) return undefined;
    const anew =
      this.#anew.get(module) ??
      this.#answers.now(original, {
        address: undefined,
        caller: this.caller(),
        beside: this.#beside,
        reason,
      });
    if (anew !== undefined) this.#anew.set(module, anew);
    return anew;
  }

  recognize(section: ArrayBuffer): TrackedModule | undefined {
    try {
      const info: InstrumentedInfo = parse(new Utf8Decoder().decode(section));
      this.#threads.addModule(info);
      return { info, key: "", path: null, original: undefined };
    } catch {
      return undefined;
    }
  }

  sharedShadow(program: WebAssembly.Memory, { info }: TrackedModule): SharedShadow {
    return this.#threads.shadowOf(program, info);
  }

  instantiated(exports: WebAssembly.Exports, { info, path, original }: TrackedModule, group?: string): void {
    if (info.layout !== undefined && !info.sharedMemory) this.#beside = info.layout;
    const id = ++this.#last;
    const memories = connectHost(exports, info, { flush: () => this.#flush(id), stacks: this.#stacks });
    this.#link.post({
      kind: "instance",
      id,
      info,
      path,
      place: group === undefined ? undefined : { group, local: localNumber(exports) },
      memories: Object.fromEntries(
        Object.entries(memories).map(([name, memory]) => [name, memory?.buffer.byteLength ?? 0]),
      ),
    });
    const isLooked = info.roots !== undefined && this.#looked++ < LOOKED_THROUGH;
    this.#instances.set(id, {
      id,
      memories,
      info,
      group,
      original,
      exports: isLooked ? exports : undefined,
    });
    // The program may be busy for a long time afterwards.
    this.#link.hurry();
    // The instance object may be collected while its functions still run. The table inside it goes with the last of
    // them.
    const inside = exports[HOST_TABLE] ?? Object.values(exports)[0];
    if (group === undefined && inside !== undefined) this.#gone.register(inside, id);
  }

  /** Adds the table reader, which the process sends once there is an instance. */
  extend(reader: TableReader): void {
    this.#reader = reader;
  }

  /**
   * Sends the tables of all instances, and what is reachable of their live blocks. Tables of groups that another
   * context has sent are left out.
   * @param resets true if the recording starts anew afterwards
   * @param isCollected true if the engine has just collected all garbage
   * @returns the groups whose tables were sent
   */
  collect(sent: readonly string[], resets: boolean, isCollected = false): string[] {
    settleObjects(isCollected);
    const groups = new Set(sent);
    for (const kept of this.#instances.values()) {
      this.#send(kept, groups);
      this.#sendReach(kept);
      const { heap: _, ...others } = kept.memories;
      const isSent = kept.group !== undefined && groups.has(kept.group);
      if (resets) this.#reader?.reset(isSent ? others : kept.memories, kept.info);
      if (kept.group !== undefined) groups.add(kept.group);
    }
    return [...groups];
  }

  #sendReach({ id, exports, info, original }: Kept): void {
    if (info.roots === undefined || this.#reader === undefined) return;
    const reach =
      exports === undefined ? NOT_LOOKED_THROUGH : this.#reader.findReach(exports, info, original);
    this.#link.post({
      kind: "reach",
      id,
      reach:
        reach === undefined || "unknown" in reach
          ? reach
          : { ...reach, contexts: [...reach.contexts], sums: [...reach.sums] },
    });
  }

  #send({ id, memories, info, group }: Kept, sent?: ReadonlySet<string>): void {
    for (const name of Object.keys(memories) as (keyof ShadowMemories)[]) {
      // Threads share only the heap tables.
      if (name === "heap" && group !== undefined && sent?.has(group)) continue;
      const { buffer } = memories[name]!;
      const whole: MemoryRange = [0, buffer.byteLength];
      const parts = this.#reader?.usedParts(name, memories, info) ?? [whole];
      this.#sendParts(id, name, buffer, whole, parts);
    }
  }

  #sendParts(
    id: number,
    memory: keyof ShadowMemories,
    buffer: ArrayBufferLike,
    [from, to]: MemoryRange,
    parts: readonly MemoryRange[],
  ): void {
    this.#link.post({ kind: "begin", id, memory, from, to });
    // A waiting process sees that sending has begun.
    this.#link.hurry();
    sendMemory(buffer, parts, (runs, bytes) => this.#link.post({ kind: "data", id, memory, runs }, bytes));
    this.#link.post({ kind: "done", id, memory });
  }

  /** Sends the heap tables of an instance, which are full. The program continues with empty ones. */
  #flush(id: number): void {
    const kept = this.#instances.get(id);
    if (kept?.memories.heap === undefined || kept.info.layout === undefined) return;
    const { control, records } = kept.info.layout;
    const whole: MemoryRange = [control, records];
    this.#sendParts(id, "heap", kept.memories.heap.buffer, whole, [whole]);
    this.#link.post({ kind: "flush", id });
  }

  #release(id: number): void {
    const kept = this.#instances.get(id);
    if (kept === undefined) return;
    this.#send(kept);
    this.#instances.delete(id);
    this.#link.post({ kind: "released", id });
  }
}

function isAgent(script: string): boolean {
  return script === AGENT_SCRIPT;
}

/** True for bytes of a valid module with code. The engine reports invalid ones to the program. */
function isWorthRewriting(bytes: Uint8Array): boolean {
  return hasCode(bytes) && validate(bytes as BufferSource);
}

/**
 * True if bytes begin like a module with code. Glue code makes a small module without code for each function pointer.
 */
function hasCode(bytes: Uint8Array): boolean {
  const [a, b, c, d] = bytes;
  if (a !== 0 || b !== 0x61 || c !== 0x73 || d !== 0x6d) return false;
  for (let at = 8; at < bytes.length; ) {
    if (bytes[at++] === 10) return true;
    let size = 0;
    for (let scale = 1; at < bytes.length; scale *= 128) {
      const byte = bytes[at++];
      size += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
    }
    at += size;
  }
  return false;
}

/** Memory of the program that threads share, with the shadow memory of a module's instances on it. */
interface Pair {
  program: WebAssembly.Memory;
  module: string;
  shadow: WebAssembly.Memory;
  group: string;
}

/** Message from one agent to another, in a property with a unique name. */
interface Sent {
  worker?: string;
  pairs?: readonly Pair[];
}

/** Longest wait of a worker that is being terminated until its tables are read. */
const ENDED_WITHIN_MS = 5000;

const { addEventListener, setTimeout } = globalThis as Partial<typeof globalThis>;
const { apply } = Reflect;

export class Threads {
  readonly #mark: string;
  readonly #link: ProcessLink;
  readonly #memories: WeakRef<WebAssembly.Memory>[] = [];
  /** Modules whose instances share their tables, by `keyOf`. */
  readonly #modules = new Map<string, InstrumentedInfo>();
  readonly #pairs: Pair[] = [];
  /** Pairs that each worker has received. */
  readonly #given = new WeakMap<object, Set<Pair>>();
  readonly #names = new WeakMap<object, string>();
  readonly #ending = new Map<string, () => void>();

  constructor({ token, isWorker }: AgentSettings, link: ProcessLink) {
    this.#mark = token;
    this.#link = link;
    this.#hookMemory();
    if ("Worker" in globalThis) this.#hookWorker();
    if (isWorker && "DedicatedWorkerGlobalScope" in globalThis) this.#listen();
  }

  /** Adds a module that was rewritten, in this or another context. */
  addModule(info: InstrumentedInfo): void {
    if (info.acrossThreads === true) this.#modules.set(keyOf(info), info);
  }

  /** Returns the shadow memory of a module's instances on a memory. */
  shadowOf(program: WebAssembly.Memory, info: InstrumentedInfo): SharedShadow {
    this.addModule(info);
    const module = keyOf(info);
    const words = new Int32Array(program.buffer);
    const known = this.#pairs.find(
      (pair) => pair.module === module && areSame(new Int32Array(pair.program.buffer), words),
    );
    const isOwn = this.#memories.some((memory) => memory.deref() === program);
    if (known === undefined && !isOwn)
      this.#link.post({
        kind: "note",
        sentence: `${info.name}: a thread got its memory in an unknown way and is recorded separately.`,
      });
    const { shadow, group } = known ?? this.#newPair(program, module, info);
    return { memory: shadow, group };
  }

  #newPair(program: WebAssembly.Memory, module: string, info: InstrumentedInfo): Pair {
    const pair = { program, module, shadow: newShadow(info), group: randomName() ?? "alone" };
    this.#pairs.push(pair);
    return pair;
  }

  /** Called once the tables of a worker have been read, so that it may end. */
  ended(worker: string): void {
    this.#ending.get(worker)?.();
  }

  #hookMemory(): void {
    const { Memory } = WebAssembly;
    replaceClass(WebAssembly, "Memory", (args) => {
      const memory = Reflect.construct(Memory, args) as WebAssembly.Memory;
      // Reading the options a second time would repeat side effects of the program's getters.
      if ((args[0] as { shared?: unknown }).shared) this.#memories.push(new WeakRef(memory));
      return memory;
    });
  }

  #hookWorker(): void {
    const { Worker } = globalThis;
    const { postMessage, terminate } = Worker.prototype as unknown as Record<string, AnyFunction>;
    const send = (worker: object, sent: Sent): void => {
      apply(postMessage, worker, [{ [this.#mark]: sent }]);
    };
    replaceClass(globalThis, "Worker", (args) => {
      const worker = Reflect.construct(Worker, args) as Worker;
      const name = randomName() as string;
      this.#names.set(worker, name);
      send(worker, { worker: name });
      return worker;
    });
    replaceFunction(Worker.prototype, "postMessage", {
      apply: (target, self, args) => {
        if (this.#names.has(self)) this.#give(self, send);
        return apply(target, self, args);
      },
    });
    replaceFunction(Worker.prototype, "terminate", {
      apply: (target, self, args) => {
        const name = this.#names.get(self);
        if (name === undefined || this.#ending.has(name)) return apply(target, self, args);
        for (const kind of ["message", "messageerror", "error"])
          apply(addEventListener as AnyFunction, self, [kind, silence, true]);
        const end = (): void => {
          this.#names.delete(self);
          apply(terminate, self, []);
        };
        this.#ending.set(name, end);
        this.#link.post({ kind: "ending", worker: name });
        apply(setTimeout as AnyFunction, globalThis, [end, ENDED_WITHIN_MS]);
        return undefined;
      },
    });
  }

  /**
   * Sends a worker the pairs that it does not have. One port keeps the order, so they arrive before the program's
   * message.
   */
  #give(worker: object, send: (worker: object, sent: Sent) => void): void {
    for (const reference of this.#memories) {
      const memory = reference.deref();
      if (memory === undefined) continue;
      for (const [module, info] of this.#modules)
        if (!this.#pairs.some((pair) => pair.program === memory && pair.module === module))
          this.#newPair(memory, module, info);
    }
    const given = entryOf(this.#given, worker, () => new Set());
    const pairs = this.#pairs.filter((pair) => !given.has(pair));
    if (pairs.length === 0) return;
    for (const pair of pairs) given.add(pair);
    try {
      send(worker, { pairs });
    } catch {
      // A page that is not isolated shares no memory.
    }
  }

  /** Receives the messages of other agents before the program sees them. */
  #listen(): void {
    const take = (event: MessageEvent): void => {
      const sent: Sent | undefined = event.data?.[this.#mark];
      if (sent === undefined) return;
      event.stopImmediatePropagation();
      if (sent.worker !== undefined) this.#link.post({ kind: "named", worker: sent.worker });
      if (sent.pairs !== undefined) this.#pairs.push(...sent.pairs);
    };
    apply(addEventListener as AnyFunction, globalThis, ["message", take]);
  }
}

function silence(event: Event): void {
  event.stopImmediatePropagation();
}

function keyOf({ buildId, originalBytes }: InstrumentedInfo): string {
  return `${buildId}:${originalBytes}`;
}

const PAGE_BYTES = 4096;
const MOST_RUNS = 4096;

/** Contents of a memory: pairs of address and length, and the bytes one after the other. */
export type SendRuns = (runs: readonly number[], bytes: Uint8Array) => void;

/** Sends the contents of a memory, in parts that begin and end at multiples of 4. Pages of zeros are left out. */
export function sendMemory(buffer: ArrayBufferLike, parts: readonly MemoryRange[], send: SendRuns): void {
  const bytes = new Uint8Array(buffer);
  // Integers, since a negative zero and NaN would compare wrongly as floats.
  const words = new Uint32Array(buffer);
  let runs: number[] = [];
  let length = 0;
  const flush = (): void => {
    if (runs.length === 0) return;
    const piece = new Uint8Array(length);
    for (let i = 0, at = 0; i < runs.length; at += runs[i + 1], i += 2)
      piece.set(bytes.subarray(runs[i], runs[i] + runs[i + 1]), at);
    send(runs, piece);
    runs = [];
    length = 0;
  };
  for (const [from, to] of parts)
    for (let at = from; at < to; ) {
      const end = Math.min(to, at - (at % PAGE_BYTES) + PAGE_BYTES);
      if (!isZero(words, at / 4, end / 4)) {
        const last = runs.length - 2;
        if (last >= 0 && runs[last] + runs[last + 1] === at) runs[last + 1] += end - at;
        else runs.push(at, end - at);
        length += end - at;
        if (length + PAGE_BYTES > PIECE_BYTES || runs.length >= MOST_RUNS * 2) flush();
      }
      at = end;
    }
  flush();
}

function isZero(words: Uint32Array, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (words[i] !== 0) return false;
  return true;
}
