import type { Readable, Writable } from "node:stream";

/** Parameters and results of the Chrome DevTools Protocol, as far as they are used. */
// biome-ignore lint/suspicious/noExplicitAny: the protocol has thousands of messages
export type CdpValues = Record<string, any>;

/** Message without an id, which answers no command. */
export interface CdpEvent {
  method: string;
  params: CdpValues;
  /** Session of the event; undefined: the browser's own. */
  sessionId: string | undefined;
}

/** Thrown if the browser refuses a command, or is gone. */
export class CdpError extends Error {
  readonly isGone: boolean;

  constructor(message: string, isGone = false) {
    super(message);
    this.name = "CdpError";
    this.isGone = isGone;
  }
}

interface Waiting {
  session: string | undefined;
  done(result: CdpValues): void;
  failed(error: CdpError): void;
}

const END = 0;

/** Splits a stream of bytes into messages, which end with a zero. */
export function onMessages(stream: Readable, take: (text: string) => void): void {
  let pieces: Buffer[] = [];
  stream.on("data", (data: Buffer) => {
    let start = 0;
    for (let end = data.indexOf(END); end >= 0; end = data.indexOf(END, start)) {
      const last = data.subarray(start, end);
      take((pieces.length === 0 ? last : Buffer.concat([...pieces, last])).toString());
      pieces = [];
      start = end + 1;
    }
    if (start < data.length) pieces.push(data.subarray(start));
  });
}

/** First id of our own commands. A client that shares the pipe uses smaller ids. */
const FIRST_ID = 1_000_000_000;

export interface CdpListener {
  /** Called in the order of the browser's messages; answers to commands are in the same order. */
  onEvent(event: CdpEvent): void;
  onGone(): void;
  /**
   * Handles messages for a client that shares the pipe: an event, or without one an answer. Returns false if the
   * message is not for the client. Absent if there is no client.
   */
  takeForeign?(text: string, event: CdpEvent | undefined): boolean;
}

export class CdpPipe {
  readonly #to: Writable;
  readonly #listener: CdpListener;
  readonly #waiting = new Map<number, Waiting>();
  #last = FIRST_ID;
  #isGone = false;

  constructor(from: Readable, to: Writable, listener: CdpListener) {
    this.#to = to;
    this.#listener = listener;
    to.on("error", () => {});
    from.on("error", () => {});
    onMessages(from, (text) => this.#take(text));
    from.on("close", () => {
      this.#isGone = true;
      this.#failAll("the browser has gone", () => true);
      listener.onGone();
    });
  }

  #failAll(reason: string, isMeant: (waiting: Waiting) => boolean): void {
    for (const [id, waiting] of this.#waiting) {
      if (!isMeant(waiting)) continue;
      this.#waiting.delete(id);
      waiting.failed(new CdpError(reason, true));
    }
  }

  #take(text: string): void {
    const { id, method, params, result, error, sessionId }: CdpValues = JSON.parse(text);
    if (id === undefined) {
      // Commands to a target that is gone get no answer.
      if (method === "Target.detachedFromTarget")
        this.#failAll("the target has gone", ({ session }) => session === params.sessionId);
      const event = { method, params: params ?? {}, sessionId };
      if (this.#listener.takeForeign?.(text, event) !== true) this.#listener.onEvent(event);
      return;
    }
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (waiting === undefined) this.#listener.takeForeign?.(text, undefined);
    else if (error === undefined) waiting.done(result ?? {});
    else waiting.failed(new CdpError(String(error.message)));
  }

  /** Sends a message of the client unchanged. */
  relay(text: string): void {
    this.#to.write(`${text}\0`);
  }

  call(method: string, params: CdpValues = {}, sessionId?: string): Promise<CdpValues> {
    if (this.#isGone) return Promise.reject(new CdpError("the browser has gone", true));
    const id = ++this.#last;
    const message = { id, method, params, ...(sessionId === undefined ? {} : { sessionId }) };
    return new Promise((done, failed) => {
      this.#waiting.set(id, { session: sessionId, done, failed });
      this.relay(JSON.stringify(message));
    });
  }

  /** Sends a command without waiting for the answer. Its target may be gone. */
  sendCommand(method: string, params: CdpValues = {}, sessionId?: string): void {
    this.call(method, params, sessionId).catch(() => {});
  }
}
