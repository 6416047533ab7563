import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readLines } from "./control-client.ts";
import type { ControlMessage, ControlRequest } from "./messages.ts";

/** A hooked process, as the supervising process knows it. */
export interface Peer {
  pid: number;
  parentPid: number;
  request(request: ControlRequest): void;
}

/** Paths of Unix sockets are limited to about 100 bytes, and some temporary folders are deep. */
const SOCKET_PATH_LIMIT = 100;

const DRAIN_TURNS = 50;
const DRAIN_TURN_MS = 10;

/** Listens for the recording threads of hooked processes. */
export class ControlServer {
  readonly path: string;
  readonly #folder: string | undefined;
  readonly #server: Server;
  readonly #peers = new Set<Peer>();
  readonly #sockets = new Set<Socket>();
  /** Connections that have not said yet whose they are. */
  #unidentified = 0;

  private constructor(path: string, folder: string | undefined, server: Server) {
    this.path = path;
    this.#folder = folder;
    this.#server = server;
  }

  static async open(onMessage: (message: ControlMessage, from: Peer) => void): Promise<ControlServer> {
    const { path, folder } = chooseAddress();
    const server = createServer();
    const control = new ControlServer(path, folder, server);
    server.on("connection", (socket) => control.#accept(socket, onMessage));
    await new Promise<void>((done, failed) => {
      server.once("error", failed);
      server.listen(path, done);
    });
    return control;
  }

  get peers(): Iterable<Peer> {
    return this.#peers;
  }

  peer(pid: number): Peer | undefined {
    return [...this.#peers].find((peer) => peer.pid === pid);
  }

  /** Resolves when everything has been read that a process which has ended had to say. */
  async drain(pid: number): Promise<void> {
    for (let turns = 0; turns < DRAIN_TURNS; turns++) {
      await new Promise((done) => setTimeout(done, DRAIN_TURN_MS));
      if (this.#unidentified === 0 && this.peer(pid) === undefined) return;
    }
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }

  #accept(socket: Socket, onMessage: (message: ControlMessage, from: Peer) => void): void {
    let peer: Peer | undefined;
    this.#sockets.add(socket);
    this.#unidentified++;
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#sockets.delete(socket);
      if (peer === undefined) this.#unidentified--;
      else this.#peers.delete(peer);
    });
    readLines(socket, (line) => {
      const message = JSON.parse(line) as ControlMessage;
      if (message.kind === "hello") {
        const { pid, parentPid } = message;
        peer = { pid, parentPid, request: (request) => socket.write(`${JSON.stringify(request)}\n`) };
        this.#peers.add(peer);
        this.#unidentified--;
      }
      if (peer !== undefined) onMessage(message, peer);
    });
  }
}

function chooseAddress(): { path: string; folder: string | undefined } {
  if (process.platform === "win32")
    return { path: `\\\\.\\pipe\\memshade-${process.pid}`, folder: undefined };
  const base = Buffer.byteLength(tmpdir()) + 30 <= SOCKET_PATH_LIMIT ? tmpdir() : "/tmp";
  const folder = mkdtempSync(join(base, "memshade-"));
  return { path: join(folder, "control"), folder };
}
