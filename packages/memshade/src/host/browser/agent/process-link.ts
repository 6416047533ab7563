import type { AgentMessage } from "../messages.ts";
import { base64 } from "./text.ts";

type Send = (text: string) => void;

const { stringify } = JSON;

/** The way from an agent to the process: messages keep their order. */
export class ProcessLink {
  readonly #send: Send;

  private constructor(send: Send) {
    this.#send = send;
  }

  /** Takes the function that leads to the process, so that nothing of it is left for the program; undefined: there is none. */
  static take(name: string): ProcessLink | undefined {
    const global = globalThis as unknown as Record<string, unknown>;
    const send = global[name];
    if (typeof send !== "function") return undefined;
    delete global[name];
    return new ProcessLink(send as Send);
  }

  post({ kind, ...message }: AgentMessage, contents?: Uint8Array): void {
    this.#send(`${kind} ${stringify(message)}\n${contents === undefined ? "" : base64(contents)}`);
  }
}
