import { Control } from "../../tools/heap/layout.ts";
import { OUT_OF_REACH } from "../../tools/heap/read/reach/apply-reach.ts";
import type { InstrumentedInfo } from "../../tools/index.ts";
import type { InstanceHandle } from "../../tools/session.ts";
import type { ShadowMemories } from "../instance/host-calls.ts";
import { moduleKey } from "../module/module-weaver.ts";
import { type Recorder, UNKNOWN_MODULE } from "../run/recorder.ts";
import type { AgentMessage } from "./messages.ts";

const PAGE_BYTES = 65536;
const RUN_BYTES = 4096;

type Of<Kind extends AgentMessage["kind"]> = AgentMessage & { kind: Kind };

/** A copy of a shadow memory, as it was when a context sent it last. */
class Image {
  readonly memory: WebAssembly.Memory;
  readonly #bytes: Uint8Array;
  /** The pages of 4 KiB in which something was written. */
  readonly #written = new Set<number>();
  /** Where the recorder keeps the number of the instance, which the program does not know. */
  readonly #own: DataView | undefined;

  constructor(bytes: number, own: number | undefined) {
    const pages = bytes / PAGE_BYTES;
    // Gigabytes that are not shared would be a reason to collect garbage, though few of their pages are used.
    this.memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    this.#bytes = new Uint8Array(this.memory.buffer);
    this.#own = own === undefined ? undefined : new DataView(this.memory.buffer, own, 4);
  }

  clear(from: number, to: number): void {
    this.#keepOwn(() => {
      for (const page of this.#written) {
        const [start, end] = [Math.max(from, page * RUN_BYTES), Math.min(to, (page + 1) * RUN_BYTES)];
        if (start < end) this.#bytes.fill(0, start, end);
      }
    });
  }

  write(runs: readonly number[], contents: Uint8Array): void {
    this.#keepOwn(() => {
      for (let i = 0, at = 0; i < runs.length; i += 2) {
        const [to, length] = [runs[i], runs[i + 1]];
        this.#bytes.set(contents.subarray(at, at + length), to);
        at += length;
        for (let page = Math.floor(to / RUN_BYTES); page * RUN_BYTES < to + length; page++)
          this.#written.add(page);
      }
    });
  }

  #keepOwn(change: () => void): void {
    const own = this.#own?.getUint32(0, true);
    change();
    if (own !== undefined) this.#own?.setUint32(0, own, true);
  }
}

/** Contents of a part of a shadow memory that have come so far. */
interface Coming {
  from: number;
  to: number;
  pieces: [runs: readonly number[], contents: Uint8Array][];
}

interface Instance {
  handle: InstanceHandle;
  images: Map<string, Image>;
  context: number;
  name: string;
  /** Others have all that it has. */
  group: string | undefined;
  /** Its tables have come at least once. */
  isRead: boolean;
  /** What is on its way, by names of memories: whoever sends it may end before it is whole. */
  coming: Map<string, Coming>;
}

/** The instances of all contexts, by images of their shadow memories. */
export class Images {
  readonly #recorder: Recorder;
  readonly #originals: (key: string) => Uint8Array | undefined;
  readonly #instances = new Map<string, Instance>();
  /** Images that instances share, by the names of their groups. */
  readonly #groups = new Map<string, Image>();

  /** @param originals the bytes of a module before it was rewritten, by its key */
  constructor(recorder: Recorder, originals: (key: string) => Uint8Array | undefined) {
    this.#recorder = recorder;
    this.#originals = originals;
  }

  /** How many instances are followed now. */
  get count(): number {
    return this.#instances.size;
  }

  /** Whether a tool follows instances of a context. */
  hasTool(context: number, tool: keyof ShadowMemories): boolean {
    return [...this.#instances.values()].some((one) => one.context === context && one.images.has(tool));
  }

  add(context: number, { id, info, path, place, memories: sizes }: Of<"instance">): void {
    const shared = place === undefined ? undefined : this.#groups.get(place.group);
    const images = new Map(
      Object.entries(sizes).map(([name, size]) => [
        name,
        name === "heap" ? (shared ?? heapImage(size, info)) : new Image(size, undefined),
      ]),
    );
    const heap = images.get("heap");
    if (place !== undefined && heap !== undefined) this.#groups.set(place.group, heap);
    const memories = Object.fromEntries(
      [...images].map(([name, { memory }]) => [name, memory]),
    ) as ShadowMemories;
    const original = () => this.#originals(moduleKey(info)) ?? UNKNOWN_MODULE;
    const handle = this.#recorder.addInstance(memories, info, original, path, place, context);
    this.#recorder.setReach(handle, OUT_OF_REACH);
    const group = images.size === 1 ? place?.group : undefined;
    this.#instances.set(keyOf(context, id), {
      handle,
      images,
      context,
      group,
      name: info.name,
      isRead: false,
      coming: new Map(),
    });
  }

  begin(context: number, { id, memory, from, to }: Of<"begin">): void {
    this.#instances.get(keyOf(context, id))?.coming.set(memory, { from, to, pieces: [] });
  }

  write(context: number, { id, memory, runs }: Of<"data">, contents: Uint8Array): void {
    this.#instances.get(keyOf(context, id))?.coming.get(memory)?.pieces.push([runs, contents]);
  }

  finish(context: number, { id, memory }: Of<"done">): void {
    const instance = this.#instances.get(keyOf(context, id));
    const coming = instance?.coming.get(memory);
    if (instance === undefined || coming === undefined) return;
    instance.coming.delete(memory);
    const image = instance.images.get(memory);
    for (const other of this.#instances.values())
      if (other === instance || other.images.get(memory) === image) other.isRead = true;
    image?.clear(coming.from, coming.to);
    for (const [runs, contents] of coming.pieces) image?.write(runs, contents);
  }

  flush(context: number, { id }: Of<"flush">): void {
    const instance = this.#instances.get(keyOf(context, id));
    if (instance !== undefined) this.#recorder.flush(instance.handle);
  }

  setReach(context: number, { id, reach }: Of<"reach">): void {
    const instance = this.#instances.get(keyOf(context, id));
    if (instance === undefined || reach === undefined) return;
    this.#recorder.setReach(
      instance.handle,
      "unknown" in reach
        ? reach
        : { ...reach, contexts: Uint32Array.from(reach.contexts), sums: Float64Array.from(reach.sums) },
    );
  }

  release(context: number, { id }: Of<"released">): void {
    const key = keyOf(context, id);
    const instance = this.#instances.get(key);
    if (instance === undefined) return;
    this.#instances.delete(key);
    this.#recorder.releaseInstance(instance.handle);
  }

  /** The names of instances of which nothing has come. */
  get unread(): string[] {
    return [...this.#instances.values()].filter(({ isRead }) => !isRead).map(({ name }) => name);
  }

  /** Whether a context has instances whose tables are not those of groups that were read. */
  has(context: number, read: readonly string[] = []): boolean {
    return [...this.#instances.values()].some(
      (instance) =>
        instance.context === context && !(instance.group !== undefined && read.includes(instance.group)),
    );
  }

  /** Whether a context has instances that share their tables with others. */
  hasGroups(context: number): boolean {
    return [...this.#instances.values()].some(
      (instance) => instance.context === context && instance.group !== undefined,
    );
  }

  /** A context is gone: so are its instances. @returns what had come of them. */
  releaseAll(context: number): { name: string; isRead: boolean; isComing: boolean }[] {
    const released: ReturnType<Images["releaseAll"]> = [];
    for (const [key, instance] of this.#instances) {
      if (instance.context !== context) continue;
      const { name, isRead, coming } = instance;
      released.push({ name, isRead, isComing: coming.size > 0 });
      this.#instances.delete(key);
      this.#recorder.releaseInstance(instance.handle);
    }
    return released;
  }
}

function heapImage(size: number, { layout }: InstrumentedInfo): Image {
  return new Image(size, layout && layout.control + Control.instance);
}

function keyOf(context: number, id: number): string {
  return `${context}:${id}`;
}
