import { fileURLToPath } from "node:url";
import { dwpCandidates, openObject } from "../../../code/objects/index.ts";
import { attempt } from "../../../ground/bytes/dispensable.ts";
import { entryOf } from "../../../ground/bytes/entries.ts";
import { WASM_PAGE_BYTES } from "../../../ground/bytes/sizes.ts";
import { readRegular } from "../../../names/load/file.ts";
import { nodeDecompressors } from "../../../names/load/objects.ts";
import { besides, readText, sourceMapUrl } from "../../../names/load/script-file.ts";
import { missingFileMessages, readSourceMap, withRequestedFiles } from "../../../names/load/symbolizer.ts";
import { Symbolizer } from "../../../names/symbolize/symbolizer.ts";
import { Control } from "../../tools/heap/layout.ts";
import { OUT_OF_REACH } from "../../tools/heap/read/reach/apply-reach.ts";
import type { InstrumentedInfo } from "../../tools/index.ts";
import type { ToolOptions } from "../../tools/run-options.ts";
import type { InstanceHandle, LinesOf, TypesOf } from "../../tools/session.ts";
import type { ShadowMemories } from "../instance/host-calls.ts";
import type { RewrittenModule } from "../instance/instantiation-observer.ts";
import { describePreambleProblem } from "../module/module-file.ts";
import { linesBy, moduleLines } from "../module/module-lines.ts";
import { moduleTypes, typesBy } from "../module/module-types.ts";
import { ModuleWeaver, moduleKey } from "../module/module-weaver.ts";
import { nativeSha256Hex } from "../module/native-sha256.ts";
import { OptionFit } from "../node/option-fit.ts";
import { type Recorder, UNKNOWN_MODULE } from "../run/recorder.ts";
import { describeThrown } from "../run/run-end.ts";
import { threadMs } from "../run/thread-time.ts";
import type { CdpPipe } from "./cdp-pipe.ts";
import type { AgentMessage, AnswerHead } from "./messages.ts";

const RUN_BYTES = 4096;

type Of<Kind extends AgentMessage["kind"]> = AgentMessage & { kind: Kind };

/** Copy of a shadow memory, as a context last sent it. */
class Image {
  readonly memory: WebAssembly.Memory;
  readonly #bytes: Uint8Array;
  /** Pages of 4 KiB that were written. */
  readonly #written = new Set<number>();
  /** Location of the instance's number, which the recorder writes. The program's copy does not have it. */
  readonly #instanceNumber: DataView | undefined;

  constructor(bytes: number, numberAddress: number | undefined) {
    const pages = bytes / WASM_PAGE_BYTES;
    this.memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    this.#bytes = new Uint8Array(this.memory.buffer);
    this.#instanceNumber =
      numberAddress === undefined ? undefined : new DataView(this.memory.buffer, numberAddress, 4);
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
    const number = this.#instanceNumber?.getUint32(0, true);
    change();
    if (number !== undefined) this.#instanceNumber?.setUint32(0, number, true);
  }
}

/** Contents of a part of a shadow memory that have arrived so far. */
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
  /** Group whose shared tables are all that the instance has. */
  group: string | undefined;
  /** True once its tables have arrived. */
  isRead: boolean;
  /** Incomplete images by names of memories. The context may end before they are complete. */
  coming: Map<string, Coming>;
}

/** Instances of all contexts, with images of their shadow memories. */
export class Images {
  readonly #recorder: Recorder;
  readonly #originals: (key: string) => Uint8Array | undefined;
  readonly #instances = new Map<string, Instance>();
  /** Images that instances share, by the names of their groups. */
  readonly #groups = new Map<string, Image>();

  /** @param originals returns the bytes of a module before it was rewritten, by its key */
  constructor(recorder: Recorder, originals: (key: string) => Uint8Array | undefined) {
    this.#recorder = recorder;
    this.#originals = originals;
  }

  get count(): number {
    return this.#instances.size;
  }

  hasTool(context: number, tool: keyof ShadowMemories): boolean {
    return [...this.#instances.values()].some(
      (instance) => instance.context === context && instance.images.has(tool),
    );
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

  /** Names of instances whose tables have not arrived. */
  get unread(): string[] {
    return [...this.#instances.values()].filter(({ isRead }) => !isRead).map(({ name }) => name);
  }

  /** True if a context has instances whose tables are not those of the groups in `read`. */
  has(context: number, read: readonly string[] = []): boolean {
    return [...this.#instances.values()].some(
      (instance) =>
        instance.context === context && !(instance.group !== undefined && read.includes(instance.group)),
    );
  }

  hasGroups(context: number): boolean {
    return [...this.#instances.values()].some(
      (instance) => instance.context === context && instance.group !== undefined,
    );
  }

  /** Releases the instances of a context that is gone. @returns how much of each had arrived */
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

export type ModuleRequest = Omit<AgentMessage & { kind: "rewrite" }, "kind" | "id" | "way" | "place">;

export interface ModuleAsker {
  textOf(url: string): Promise<string>;
  /** Called with a module that was rewritten for the first time. */
  onNew(module: PageModule): void;
}

/** Longest script that is searched for names. */
const GLUE_LIMIT_BYTES = 8 << 20;

const NONE = new Uint8Array(0);

/** Rewrites the modules of pages. A module that was rewritten for one context is reused for all. */
export class ModuleService {
  readonly #weaver: ModuleWeaver;
  readonly #giveUp: (sentence: string) => void;
  /** Answers by a key of everything that they depend on. */
  readonly #cache = new Map<string, Uint8Array>();
  readonly #pending = new Map<string, Promise<Uint8Array>>();
  readonly #originals = new Map<string, Uint8Array>();
  readonly #givenUp = new Set<string>();
  readonly allocatorOption = new OptionFit();
  rewritingMs = 0;

  /** @param giveUp is called for modules that run without being profiled */
  constructor(tools: ToolOptions, giveUp: (sentence: string) => void) {
    this.#weaver = new ModuleWeaver(tools, (mismatch) => this.allocatorOption.take(mismatch));
    this.#giveUp = giveUp;
  }

  /** Returns the bytes of a module before it was rewritten, by `moduleKey`. */
  readonly original = (key: string): Uint8Array | undefined => this.#originals.get(key);

  async answer(bytes: Uint8Array, request: ModuleRequest, asker: ModuleAsker): Promise<Uint8Array> {
    if (describePreambleProblem(bytes) !== undefined) return NONE;
    const { beside, reason } = request;
    const key = nativeSha256Hex(bytes);
    const alone = JSON.stringify([key, reason]);
    const withTables = JSON.stringify([key, reason, beside]);
    const earlier = this.#cache.get(alone) ?? this.#cache.get(withTables) ?? this.#pending.get(withTables);
    if (earlier !== undefined) return earlier;
    const making = (async () => {
      const glue = await glueOf(request.caller, asker.textOf);
      const start = threadMs();
      const module = this.#rewrite(bytes, key, glue, request, asker);
      this.rewritingMs += threadMs() - start;
      const answer = module === undefined ? NONE : answerOf(module);
      // Only libraries depend on the module whose memory they share.
      this.#cache.set(module?.tracked.info.beside === undefined ? alone : withTables, answer);
      this.#pending.delete(withTables);
      return answer;
    })();
    this.#pending.set(withTables, making);
    return making;
  }

  #rewrite(
    bytes: Uint8Array,
    key: string,
    glue: string,
    { address, caller, beside, reason }: ModuleRequest,
    asker: ModuleAsker,
  ): RewrittenModule | undefined {
    let name: string | undefined;
    try {
      const path = pathOf(address);
      name = this.#weaver.nameOf(bytes, { path, address, scripts: caller.map(withoutQuery) });
      const script = path === null ? caller[0] : undefined;
      const module = this.#weaver.first(bytes, name, { key, path, script, glue, beside, reason });
      const moduleId = moduleKey(module.tracked.info);
      if (!this.#originals.has(moduleId)) {
        this.#originals.set(moduleId, bytes);
        asker.onNew({ original: bytes, name, base: address ?? caller[0] });
      }
      return module;
    } catch (error) {
      this.reject(key, name, describeThrown(error));
      return undefined;
    }
  }

  /** Reports a module that runs without being profiled. */
  reject(key: string, name: string | undefined, reason: string): void {
    if (this.#givenUp.has(key)) return;
    this.#givenUp.add(key);
    this.#giveUp(`${name ?? "a module"} runs without being profiled: ${reason}`);
  }
}

function pathOf(address: string | undefined): string | null {
  if (address?.startsWith("file:") !== true) return null;
  return attempt(() => fileURLToPath(withoutQuery(address)), null);
}

async function glueOf(scripts: readonly string[], textOf: (url: string) => Promise<string>): Promise<string> {
  const texts = await Promise.all(scripts.map(textOf));
  return texts.filter((text) => text.length <= GLUE_LIMIT_BYTES && /wasm|WebAssembly/.test(text)).join("\n");
}

function answerOf({ bytes, tracked: { info, key, path } }: RewrittenModule): Uint8Array {
  const head = new TextEncoder().encode(JSON.stringify({ info, key, path } satisfies AnswerHead));
  const answer = new Uint8Array(4 + head.length + bytes.length);
  new DataView(answer.buffer).setUint32(0, head.length, true);
  answer.set(head, 4);
  answer.set(bytes, 4 + head.length);
  return answer;
}

/** Origin of a file's request: the page that uses it, with the page's own rights. */
export interface LoadedFrom {
  session: string;
  /** Frame of the page; workers have none. */
  frame: string | undefined;
}

/** Largest files that are loaded: a script or source map, and debug information of a module. */
const LARGEST_BYTES = 64 << 20;
const LARGEST_DEBUG_BYTES = 512 << 20;
const WITHIN_MS = 5000;
/** Limit for debug information, which is about ten times as large as code. */
const DEBUG_WITHIN_MS = 30_000;

/** Files of pages, each loaded once. */
export class PageTexts {
  readonly #cdp: CdpPipe;
  readonly #texts = new Map<string, string>();
  readonly #scripts = new Set<string>();
  readonly #loading: Promise<void>[] = [];
  readonly #files = new Map<string, Promise<Buffer | undefined>>();

  constructor(cdp: CdpPipe) {
    this.#cdp = cdp;
  }

  async textOf(url: string, from: LoadedFrom): Promise<string> {
    const text = (await this.#bytesOf(url, from, LARGEST_BYTES, WITHIN_MS))?.toString();
    if (text !== undefined) this.#texts.set(url, text);
    return text ?? "";
  }

  debugFile(url: string, from: LoadedFrom): Promise<Buffer | undefined> {
    return this.#bytesOf(url, from, LARGEST_DEBUG_BYTES, DEBUG_WITHIN_MS);
  }

  /** Loads a script and its source map while the page still exists. */
  load(script: string, from: LoadedFrom): void {
    if (this.#scripts.has(script) || !/^https?:/.test(script)) return;
    this.#scripts.add(script);
    this.awaits(
      (async () => {
        const map = sourceMapUrl(await this.textOf(script, from));
        if (map !== undefined && !map.startsWith("data:")) await this.textOf(besides(script, map), from);
      })(),
    );
  }

  awaits(loading: Promise<void>): void {
    this.#loading.push(loading.catch(() => {}));
  }

  /** Resolves when all requested files are loaded, or have failed. */
  async settled(): Promise<void> {
    await Promise.all(this.#loading.splice(0));
  }

  readonly read = (place: string): string | undefined => this.#texts.get(place) ?? readText(place);

  #bytesOf(url: string, from: LoadedFrom, largest: number, withinMs: number): Promise<Buffer | undefined> {
    return entryOf(this.#files, url, () =>
      withTimeout(this.#load(url, from, largest), withinMs).catch(() => undefined),
    );
  }

  async #load(url: string, { session, frame }: LoadedFrom, largest: number): Promise<Buffer | undefined> {
    if (url.startsWith("file:")) return readRegular(fileURLToPath(url.replace(/[?#].*$/s, "")));
    if (url.startsWith("data:")) return Buffer.from(await (await fetch(url)).arrayBuffer());
    if (!/^https?:/.test(url)) return undefined;
    const { resource } = await this.#cdp.call(
      "Network.loadNetworkResource",
      {
        ...(frame === undefined ? {} : { frameId: frame }),
        url,
        options: { disableCache: false, includeCredentials: true },
      },
      session,
    );
    if (resource?.success !== true) return undefined;
    const pieces: Buffer[] = [];
    let isWhole = false;
    for (let length = 0; length <= largest && !isWhole; ) {
      const read = await this.#cdp.call("IO.read", { handle: resource.stream, size: 1 << 20 }, session);
      const piece = Buffer.from(read.data, read.base64Encoded === true ? "base64" : "utf8");
      pieces.push(piece);
      length += piece.length;
      isWhole = read.eof === true;
    }
    this.#cdp.sendCommand("IO.close", { handle: resource.stream }, session);
    return isWhole ? Buffer.concat(pieces) : undefined;
  }
}

async function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((done) => {
    timer = setTimeout(done, ms, undefined);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Module of a page. `base` is its own address, or that of the script that compiled it; names of other files are
 * relative to it.
 */
interface PageModule {
  original: Uint8Array;
  name: string;
  base: string | undefined;
}

/** Debug information of a module in other files. */
interface Symbols {
  lines: ReturnType<LinesOf>;
  /** File with the debug information; undefined for a source map, which has no types. */
  debug: Uint8Array | undefined;
}

/** Debug information that the modules of pages have in other files, loaded while the page exists. */
export class PageSymbols {
  readonly #texts: PageTexts;
  readonly #note: (sentence: string) => void;
  readonly #symbols = new WeakMap<Uint8Array, Symbols>();

  /** @param note is called if a file that a module names is not available */
  constructor(texts: PageTexts, note: (sentence: string) => void) {
    this.#texts = texts;
    this.#note = note;
  }

  readonly linesOf: LinesOf = (original) => {
    const symbols = this.#symbols.get(original);
    return symbols === undefined ? moduleLines(original) : symbols.lines;
  };

  readonly typesOf: TypesOf = (original) => {
    const debug = this.#symbols.get(original)?.debug;
    return debug === undefined ? moduleTypes(original) : typesBy(original, debug);
  };

  load(module: PageModule, from: LoadedFrom): void {
    this.#texts.awaits(this.#load(module, from));
  }

  async #load({ original, name, base }: PageModule, from: LoadedFrom): Promise<void> {
    const symbolizer = new Symbolizer(openObject(original), {
      decompressors: nodeDecompressors,
      readSourceMap,
    });
    let debug: Uint8Array | undefined;
    let place = base;
    for (const request of symbolizer.needs()) {
      if (request.kind !== "external-debug-info" && request.kind !== "source-map") continue;
      const url = addressOf(request.name, base);
      const file = url === undefined ? undefined : await this.#texts.debugFile(url, from);
      if (file === undefined) {
        for (const end of missingFileMessages(request))
          this.#note(`${name} ${end}: source lines may be missing.`);
      } else if (request.kind === "external-debug-info") {
        debug = file;
        place = url;
      }
      symbolizer.provide(request, file);
    }
    if (!symbolizer.hasDebugInfo) return;
    const dwp = symbolizer.isSplit ? await this.#loadPackage(name, place, from) : undefined;
    const withPackage = withRequestedFiles(symbolizer, ({ kind }) => (kind === "dwp" ? dwp : undefined));
    this.#symbols.set(original, {
      lines: linesBy(withPackage((offset: number) => symbolizer.frames(offset))),
      debug,
    });
  }

  /** Loads the package of split debug information, which is in a file beside the rest. */
  async #loadPackage(
    name: string,
    place: string | undefined,
    from: LoadedFrom,
  ): Promise<Uint8Array | undefined> {
    const [url] = place === undefined ? [] : dwpCandidates(withoutQuery(place));
    const file = url === undefined ? undefined : await this.#texts.debugFile(url, from);
    if (file === undefined)
      this.#note(
        `${name} has split debug information, and ${url ?? "its package (.dwp)"} was not found: inlined functions are unknown.`,
      );
    return file;
  }
}

/** Resolves a name in a module relative to its address; undefined if the result is no address. */
function addressOf(name: string, base: string | undefined): string | undefined {
  return URL.canParse(name, base) ? new URL(name, base).href : undefined;
}

function withoutQuery(address: string): string {
  return address.replace(/[?#].*$/s, "");
}
