import { fileURLToPath } from "node:url";
import { readRegular } from "../../../names/load/file.ts";
import { besides, readText, sourceMapUrl } from "../../../names/load/script-file.ts";
import type { CdpPipe } from "./cdp-pipe.ts";

/** Where a file is loaded from: by the page that uses it, with the page's own rights. */
export interface LoadedFrom {
  session: string;
  /** Of a page or frame; workers have none. */
  frame: string | undefined;
}

/** What is larger is not loaded: a script or source map, and debug information of a module. */
const LARGEST_BYTES = 64 << 20;
const LARGEST_DEBUG_BYTES = 512 << 20;
const WITHIN_MS = 5000;
/** Debug information is ten times as large as code. */
const DEBUG_WITHIN_MS = 30_000;

/** The files that pages are made of, each loaded once. */
export class PageTexts {
  readonly #cdp: CdpPipe;
  readonly #texts = new Map<string, string>();
  readonly #scripts = new Set<string>();
  readonly #loading: Promise<void>[] = [];
  readonly #files = new Map<string, Promise<Buffer | undefined>>();

  constructor(cdp: CdpPipe) {
    this.#cdp = cdp;
  }

  /** The text of a script; empty where it cannot be had. */
  async textOf(url: string, from: LoadedFrom): Promise<string> {
    const text = (await this.#bytesOf(url, from, LARGEST_BYTES, WITHIN_MS))?.toString();
    if (text !== undefined) this.#texts.set(url, text);
    return text ?? "";
  }

  /** Debug information of a module; undefined where it cannot be had. */
  debugFile(url: string, from: LoadedFrom): Promise<Buffer | undefined> {
    return this.#bytesOf(url, from, LARGEST_DEBUG_BYTES, DEBUG_WITHIN_MS);
  }

  /** Loads a script and its source map, while the page is there. */
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

  /** Something is loaded, which is of use before the profile is made. */
  awaits(loading: Promise<void>): void {
    this.#loading.push(loading.catch(() => {}));
  }

  /** Resolves when what was to be loaded is there, or cannot be had. */
  async settled(): Promise<void> {
    await Promise.all(this.#loading.splice(0));
  }

  /** The text of what was loaded, or of a file. */
  readonly read = (place: string): string | undefined => this.#texts.get(place) ?? readText(place);

  /** What an address leads to; undefined where that cannot be had. */
  #bytesOf(url: string, from: LoadedFrom, largest: number, withinMs: number): Promise<Buffer | undefined> {
    const known = this.#files.get(url);
    if (known !== undefined) return known;
    const loading = withTimeout(this.#load(url, from, largest), withinMs).catch(() => undefined);
    this.#files.set(url, loading);
    return loading;
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
    this.#cdp.tell("IO.close", { handle: resource.stream }, session);
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
