import type { InstrumentedInfo } from "../../../tools/index.ts";
import { type AnyFunction, replaceClass, replaceFunction } from "../../instance/replace-property.ts";
import { areSame, newShadow, type SharedShadow } from "../../instance/shared-shadows.ts";
import type { AgentSettings } from "../messages.ts";
import type { ProcessLink } from "./process-link.ts";
import { randomName } from "./random-name.ts";

/** A memory of the program that threads share, and the shadow memory of a module's instances with it. */
interface Pair {
  program: WebAssembly.Memory;
  module: string;
  shadow: WebAssembly.Memory;
  group: string;
}

/** What one agent sends another, as a property of a message that nobody else can have. */
interface Sent {
  /** The name of the worker that it is sent to. */
  worker?: string;
  pairs?: readonly Pair[];
}

/** A worker that is about to be ended waits for its tables to be read, and no longer. */
const ENDED_WITHIN_MS = 5000;

// Programs replace these.
const { addEventListener, setTimeout } = globalThis as Partial<typeof globalThis>;
const { apply } = Reflect;

/** What the threads of a page have in common: memories, and the workers that get them. */
export class Threads {
  readonly #mark: string;
  readonly #link: ProcessLink;
  /** Shared memories that this context has made. */
  readonly #memories: WeakRef<WebAssembly.Memory>[] = [];
  /** Modules whose instances share their tables, by `keyOf`. */
  readonly #modules = new Map<string, InstrumentedInfo>();
  readonly #pairs: Pair[] = [];
  /** The pairs that workers have got. */
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

  /** A module that was rewritten, here or elsewhere. */
  know(info: InstrumentedInfo): void {
    if (info.acrossThreads === true) this.#modules.set(keyOf(info), info);
  }

  /** The shadow memory of a module's instances with a memory. */
  shadowOf(program: WebAssembly.Memory, info: InstrumentedInfo): SharedShadow {
    this.know(info);
    const module = keyOf(info);
    const words = new Int32Array(program.buffer);
    const known = this.#pairs.find(
      (pair) => pair.module === module && areSame(new Int32Array(pair.program.buffer), words),
    );
    const isOwn = this.#memories.some((memory) => memory.deref() === program);
    if (known === undefined && !isOwn)
      this.#link.post({
        kind: "note",
        sentence: `${info.name}: a thread got its memory by a way that is not followed: it is followed on its own.`,
      });
    const { shadow, group } = known ?? this.#newPair(program, module, info);
    return { memory: shadow, group };
  }

  #newPair(program: WebAssembly.Memory, module: string, info: InstrumentedInfo): Pair {
    const pair = { program, module, shadow: newShadow(info), group: randomName() ?? "alone" };
    this.#pairs.push(pair);
    return pair;
  }

  /** Reads on: the tables of a worker have been read, so it may end. */
  ended(worker: string): void {
    this.#ending.get(worker)?.();
  }

  #hookMemory(): void {
    const { Memory } = WebAssembly;
    replaceClass(WebAssembly, "Memory", (args) => {
      const memory = Reflect.construct(Memory, args) as WebAssembly.Memory;
      // The program's own way to ask for one has no effects a second time.
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

  /** Gives a worker the pairs that it has not got. One port keeps the order: they are there before the program's message. */
  #give(worker: object, send: (worker: object, sent: Sent) => void): void {
    for (const reference of this.#memories) {
      const memory = reference.deref();
      if (memory === undefined) continue;
      for (const [module, info] of this.#modules)
        if (!this.#pairs.some((pair) => pair.program === memory && pair.module === module))
          this.#newPair(memory, module, info);
    }
    const given = this.#given.get(worker) ?? new Set();
    this.#given.set(worker, given);
    const pairs = this.#pairs.filter((pair) => !given.has(pair));
    if (pairs.length === 0) return;
    for (const pair of pairs) given.add(pair);
    try {
      send(worker, { pairs });
    } catch {
      // A page that is not isolated shares no memory.
    }
  }

  /** Takes what other agents send before the program sees it. */
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
