import type { AgentMessage } from "../messages.ts";
import { base64 } from "./text.ts";

type Send = (text: string) => void;

const { stringify } = JSON;
const { debug } = console;

/** The way from an agent to the process: messages keep their order. */
export class ProcessLink {
  readonly #send: Send;
  readonly #name: string;

  private constructor(send: Send, name: string) {
    this.#send = send;
    this.#name = name;
  }

  /** Takes the function that leads to the process, so that nothing of it is left for the program; undefined: there is none. */
  static take(name: string): ProcessLink | undefined {
    const global = globalThis as unknown as Record<string, unknown>;
    const send = global[name];
    if (typeof send !== "function") return undefined;
    delete global[name];
    return new ProcessLink(send as Send, name);
  }

  /** Hands the agent over: whoever listens to the console's messages gets hold of what they are about. */
  introduce(agent: object): void {
    debug(this.#name, agent);
  }

  /** Has what was posted sent at once. Otherwise it waits for the end of what the program does now; messages of the console do not. */
  hurry(): void {
    debug(this.#name);
  }

  post({ kind, ...message }: AgentMessage, contents?: Uint8Array): void {
    this.#send(`${kind} ${stringify(message)}\n${contents === undefined ? "" : base64(contents)}`);
  }
}
