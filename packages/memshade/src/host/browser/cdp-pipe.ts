import type { Readable, Writable } from "node:stream";

/** Parameters and results of the Chrome DevTools Protocol, as far as they are looked at. */
// biome-ignore lint/suspicious/noExplicitAny: the protocol has thousands of messages
export type CdpValues = Record<string, any>;

/** A message without an id that asked for it. */
export interface CdpEvent {
  method: string;
  params: CdpValues;
  /** The session it is of; undefined: the browser's own. */
  sessionId: string | undefined;
}

/** The browser has refused a command, or is gone. */
export class CdpError extends Error {
  readonly isGone: boolean;

  constructor(message: string, isGone = false) {
    super(message);
    this.name = "CdpError";
    this.isGone = isGone;
  }
}

interface Waiting {
  done(result: CdpValues): void;
  failed(error: CdpError): void;
}

const END = 0;

/** Cuts a stream of bytes into messages, which end with a zero. */
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

/** The Chrome DevTools Protocol over a pair of pipes. */
export class CdpPipe {
  readonly #to: Writable;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;
  #isGone = false;

  /**
   * @param onEvent is called in the order in which the browser tells; answers to commands come in the same order
   * @param onGone is called once, when the browser has closed its end
   */
  constructor(from: Readable, to: Writable, onEvent: (event: CdpEvent) => void, onGone: () => void) {
    this.#to = to;
    to.on("error", () => {});
    from.on("error", () => {});
    onMessages(from, (text) => this.#take(JSON.parse(text), onEvent));
    from.on("close", () => {
      this.#isGone = true;
      for (const { failed } of this.#waiting.values()) failed(new CdpError("the browser has gone", true));
      this.#waiting.clear();
      onGone();
    });
  }

  #take(
    { id, method, params, result, error, sessionId }: CdpValues,
    onEvent: (event: CdpEvent) => void,
  ): void {
    if (id === undefined) {
      onEvent({ method, params: params ?? {}, sessionId });
      return;
    }
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.done(result ?? {});
    else waiting?.failed(new CdpError(String(error.message)));
  }

  /** @throws CdpError */
  call(method: string, params: CdpValues = {}, sessionId?: string): Promise<CdpValues> {
    if (this.#isGone) return Promise.reject(new CdpError("the browser has gone", true));
    const id = ++this.#last;
    const message = { id, method, params, ...(sessionId === undefined ? {} : { sessionId }) };
    return new Promise((done, failed) => {
      this.#waiting.set(id, { done, failed });
      this.#to.write(`${JSON.stringify(message)}\0`);
    });
  }

  /** Sends a command whose answer nobody waits for: what it is about may be gone. */
  tell(method: string, params: CdpValues = {}, sessionId?: string): void {
    this.call(method, params, sessionId).catch(() => {});
  }
}
