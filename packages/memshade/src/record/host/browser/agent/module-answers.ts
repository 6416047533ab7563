import { concatenated } from "../../../../ground/bytes/file-piece.ts";
import type { ShadowLayout } from "../../../tools/index.ts";
import type { RewrittenModule } from "../../instance/instantiation-observer.ts";
import { type AgentMessage, type AgentSettings, type AnswerHead, PIECE_BYTES } from "../messages.ts";
import { base64, bytesOf, Utf8Decoder } from "./text.ts";

type Send = (text: string) => void;

const { stringify } = JSON;
const { debug } = console;

/** Connection from an agent to the process. Messages keep their order. */
export class ProcessLink {
  readonly #send: Send;
  readonly #name: string;

  private constructor(send: Send, name: string) {
    this.#send = send;
    this.#name = name;
  }

  /**
   * Takes the binding that leads to the process and removes it from the program's globals; undefined if there is none.
   */
  static take(name: string): ProcessLink | undefined {
    const global = globalThis as unknown as Record<string, unknown>;
    const send = global[name];
    if (typeof send !== "function") return undefined;
    delete global[name];
    return new ProcessLink(send as Send, name);
  }

  /** Passes the agent to the process: a listener of console messages gets references to their arguments. */
  introduce(agent: object): void {
    debug(this.#name, agent);
  }

  /**
   * Sends the posted messages at once. They would otherwise wait for the program's current task; console messages do
   * not wait.
   */
  hurry(): void {
    debug(this.#name);
  }

  post({ kind, ...message }: AgentMessage, contents?: Uint8Array): void {
    this.#send(`${kind} ${stringify(message)}\n${contents === undefined ? "" : base64(contents)}`);
  }
}

const { crypto } = globalThis as Partial<typeof globalThis>;
const getRandomValues = crypto?.getRandomValues;

/**
 * Returns a name that no other context has; undefined in worklets. Does not use the program's random numbers, which
 * stay reproducible.
 */
export function randomName(): string | undefined {
  if (getRandomValues === undefined) return undefined;
  return Reflect.apply(getRandomValues, crypto, [new Uint32Array(4)]).join("-");
}

export interface ModuleQuestion {
  address: string | undefined;
  caller: readonly string[];
  beside: ShadowLayout | undefined;
  reason?: string | undefined;
}

interface Pushed {
  pieces: Uint8Array[];
  whole: Uint8Array | undefined;
  done: (() => void) | undefined;
}

/** Limit of the wait for an answer in a loop, if the process does not interrupt it. */
const INTERRUPTED_WITHIN_MS = 20_000;
const OPAQUE = "https://memshade.invalid";

// Copies of functions that programs may replace.
const { parse } = JSON;
const { now } = Date;
const { fetch, XMLHttpRequest } = globalThis as Partial<typeof globalThis>;

export class ModuleAnswers {
  readonly #settings: AgentSettings;
  readonly #link: ProcessLink;
  readonly #pushed = new Map<number, Pushed>();
  #questions = 0;
  /** Distinguishes this context's requests from those of other contexts. */
  #nonce: string | undefined;

  constructor(settings: AgentSettings, link: ProcessLink) {
    this.#settings = settings;
    this.#link = link;
  }

  /** Requests a rewritten module for a program that awaits a promise. */
  async later(bytes: Uint8Array, question: ModuleQuestion): Promise<RewrittenModule | undefined> {
    const isLarge = bytes.length > PIECE_BYTES && fetch !== undefined && !isServed();
    const id = this.#sendModule(bytes, question, isLarge ? "request" : "push");
    const pushed = this.#expect(id);
    if (isLarge)
      try {
        const response: Response = await Reflect.apply(fetch as typeof globalThis.fetch, globalThis, [
          this.#addressOf(id),
        ]);
        if (response.ok) return read(new Uint8Array(await response.arrayBuffer()), bytes);
        throw response;
      } catch {
        // The page may forbid requests to itself.
        this.#link.post({ kind: "push", id });
      }
    await new Promise<void>((done) => {
      if (pushed.whole === undefined) pushed.done = done;
      else done();
    });
    this.#pushed.delete(id);
    return read(pushed.whole as Uint8Array, bytes);
  }

  /** Requests a rewritten module for a program that blocks. */
  now(bytes: Uint8Array, question: ModuleQuestion): RewrittenModule | undefined {
    const id = this.#sendModule(bytes, question, "request");
    this.#link.hurry();
    const requested = isServed() ? undefined : this.#request(id);
    if (requested !== undefined) return read(requested, bytes);
    const pushed = this.#expect(id);
    if (this.#settings.isWorker) {
      this.#link.post({ kind: "interrupt", id });
      this.#link.hurry();
      for (const start = now(); pushed.whole === undefined && now() - start < INTERRUPTED_WITHIN_MS; );
    }
    this.#pushed.delete(id);
    if (pushed.whole !== undefined) return read(pushed.whole, bytes);
    this.#link.post({
      kind: "note",
      sentence: this.#settings.isWorker
        ? "A module that a worker compiled synchronously is not profiled: the page did not answer."
        : "A module that a page compiled synchronously is not profiled: the page's content security policy forbids it (--bypass-csp ignores the policy).",
    });
    return undefined;
  }

  push(id: number, text: string, isLast: boolean): void {
    const pushed = this.#pushed.get(id);
    if (pushed === undefined) return;
    pushed.pieces.push(bytesOf(text));
    if (!isLast) return;
    pushed.whole = concatenated(pushed.pieces);
    pushed.done?.();
  }

  #sendModule(bytes: Uint8Array, question: ModuleQuestion, way: "push" | "request"): number {
    const id = ++this.#questions;
    for (let at = 0; at < bytes.length; at += PIECE_BYTES)
      this.#link.post({ kind: "part", id }, bytes.subarray(at, at + PIECE_BYTES));
    this.#link.post({ kind: "rewrite", id, way, place: this.#placeOf(id), ...question });
    return id;
  }

  #placeOf(id: number): string | undefined {
    this.#nonce ??= randomName();
    return this.#nonce === undefined ? undefined : `${this.#nonce}/${id}`;
  }

  #expect(id: number): Pushed {
    const pushed: Pushed = { pieces: [], whole: undefined, done: undefined };
    this.#pushed.set(id, pushed);
    return pushed;
  }

  #request(id: number): Uint8Array | undefined {
    if (XMLHttpRequest === undefined) return undefined;
    try {
      const request = new XMLHttpRequest();
      request.open("GET", this.#addressOf(id), false);
      if (this.#settings.isWorker) request.responseType = "arraybuffer";
      // Windows may not request bytes synchronously, so they get a text with one character per byte.
      else request.overrideMimeType("text/plain; charset=x-user-defined");
      request.send();
      if (request.status !== 200) return undefined;
      return this.#settings.isWorker ? new Uint8Array(request.response) : bytesOfText(request.response);
    } catch {
      return undefined;
    }
  }

  #addressOf(id: number): string {
    const { origin } = location;
    return `${/^https?:/.test(origin) ? origin : OPAQUE}/.memshade-${this.#settings.token}/${this.#placeOf(id)}`;
  }
}

function isServed(): boolean {
  try {
    return !!(globalThis as { navigator?: Navigator }).navigator?.serviceWorker?.controller;
  } catch {
    // A sandboxed frame has no service worker.
    return false;
  }
}

/** Decodes an answer; undefined if the module is to stay as it is. */
function read(answer: Uint8Array, original: Uint8Array): RewrittenModule | undefined {
  if (answer.length === 0) return undefined;
  const view = new DataView(answer.buffer, answer.byteOffset);
  const end = 4 + view.getUint32(0, true);
  const head: AnswerHead = parse(new Utf8Decoder().decode(answer.subarray(4, end)));
  return { bytes: answer.subarray(end), tracked: { ...head, original } };
}

function bytesOfText(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}
