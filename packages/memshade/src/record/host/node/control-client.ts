import { connect, type Socket } from "node:net";
import type { ControlMessage, ControlRequest, ControlWord } from "./recording/messages.ts";

const SEND_WITHIN_MS = 1000;

/** End of the control socket in a recording thread. Works without a supervising process too, silently. */
export class ControlClient {
  readonly #socket: Socket | undefined;
  #isConnected = false;
  /** True once the supervising process has announced its end. */
  #isLeft = false;

  /**
   * @param onLost called when the supervising process has ended without leaving, such as by SIGKILL; with `false` if
   *  there was none to connect to.
   */
  constructor(
    path: string | null,
    identity: { pid: number; parentPid: number },
    onRequest: (request: ControlRequest) => void,
    onLost: (wasConnected: boolean) => void,
  ) {
    if (path === null) return;
    this.#socket = connect(path, () => {
      this.#isConnected = true;
    });
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => {
      if (!this.#isLeft) onLost(this.#isConnected);
    });
    readLines(this.#socket, (line) => {
      const request = JSON.parse(line) as ControlWord;
      if (request.kind === "leaving") this.#isLeft = true;
      else onRequest(request);
    });
    this.send({ kind: "hello", ...identity });
  }

  /** Resolves when later messages are sent at once, or never will be. */
  async ready(): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined || this.#isConnected || socket.destroyed) return;
    await new Promise<void>((done) => {
      socket.once("connect", done);
      socket.once("close", () => done());
    });
  }

  /** Resolves to true when all messages are sent; to false if they cannot be sent. */
  sent(): Promise<boolean> {
    const socket = this.#socket;
    if (socket === undefined || socket.destroyed) return Promise.resolve(false);
    return new Promise((done) => {
      socket.once("close", () => done(false));
      socket.write("\n", (error) => done(error === undefined || error === null));
      setTimeout(() => done(false), SEND_WITHIN_MS);
    });
  }

  send(message: ControlMessage): void {
    this.#socket?.write(`${JSON.stringify(message)}\n`);
  }
}

/** Calls back with each line that arrives on a socket, except empty ones. */
export function readLines(socket: Socket, onLine: (line: string) => void): void {
  let rest = "";
  socket.setEncoding("utf8");
  socket.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) if (line !== "") onLine(line);
  });
}
