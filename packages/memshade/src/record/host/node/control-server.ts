import { createServer, type Server, type Socket } from "node:net";
import { readLines } from "./control-client.ts";
import { newControlAddress, removeControlFolder } from "./control-folder.ts";
import type { ControlMessage, ControlWord } from "./recording/messages.ts";

/** A hooked process, as the supervising process knows it. */
export interface Peer {
  pid: number;
  parentPid: number;
  say(word: ControlWord): void;
}

const DRAIN_TURNS = 50;
const DRAIN_TURN_MS = 10;

/** Listens for the recording threads of hooked processes. */
export class ControlServer {
  readonly path: string;
  readonly #server: Server;
  readonly #peers = new Set<Peer>();
  readonly #sockets = new Set<Socket>();
  /** Connections that have not said yet whose they are. */
  #unidentified = 0;

  private constructor(path: string, server: Server) {
    this.path = path;
    this.#server = server;
  }

  static async open(onMessage: (message: ControlMessage, from: Peer) => void): Promise<ControlServer> {
    const path = newControlAddress();
    const server = createServer();
    const control = new ControlServer(path, server);
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

  /** Processes that go on are told, so that they do. */
  close(): void {
    for (const peer of this.#peers) peer.say({ kind: "leaving" });
    for (const socket of this.#sockets) socket.destroySoon();
    this.#server.close();
    removeControlFolder(this.path);
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
        peer = { pid, parentPid, say: (word) => socket.write(`${JSON.stringify(word)}\n`) };
        this.#peers.add(peer);
        this.#unidentified--;
      }
      if (peer !== undefined) onMessage(message, peer);
    });
  }
}
