import { type ChildProcess, spawn } from "node:child_process";
import { statSync } from "node:fs";
import module, { createRequire } from "node:module";
import { createServer, type Server, type Socket } from "node:net";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { UserError } from "../../../ground/bytes/errors.ts";
import { describeSystemError } from "../../../ground/bytes/system-errors.ts";
import type { ToolOptions } from "../../tools/run-options.ts";
import { memoryWarning, watchMemory } from "../memory-need.ts";
import { isFromTerminal, onSignals, unlessSignalled } from "../run/die-by-signal.ts";
import { type FolderClaim, settleLeftovers } from "../run/folder-claim.ts";
import {
  assertPlacesForInherited,
  closeInherited,
  inheritedStdio,
  programEnvironment,
} from "../run/inherited.ts";
import { ownIdentity } from "../run/process-identity.ts";
import { NOT_WRITTEN, sayInterrupted } from "../run/profile-failure.ts";
import { hasPlaceHolder, programName } from "../run/run-folder.ts";
import { EndSignals, type RunOutcome, supervise } from "../run/supervise.ts";
import { say, sayWritten } from "../run/terminal-line.ts";
import { siblingModule } from "../sibling-module.ts";
import { readLines } from "./control-client.ts";
import { newControlAddress, removeControlFolder, removeLeftControlFolders } from "./control-folder.ts";
import { OptionFit } from "./option-fit.ts";
import type { ControlMessage, ControlRequest, ControlWord } from "./recording/messages.ts";
import { type HookSettings, SETTINGS_VARIABLE } from "./settings.ts";

export interface NodeRun {
  command: readonly string[];
  /** Options for Node itself. */
  nodeOptions: readonly string[];
  /** Template of the run folder, see `expandOutTemplate`. */
  out?: string | undefined;
  /** Record Node processes that the program starts too. */
  traceChildren?: boolean | undefined;
  /** Do not print where a profile was written. */
  isQuiet?: boolean | undefined;
  tools: ToolOptions;
  /** Called with the folder of the program's own profile, after all messages were printed. */
  onWritten?: ((folder: string) => Promise<void>) | undefined;
}

/**
 * Runs a Node program under the profiler. The program's own process writes the profile; this one passes on signals and
 * ends as the program has ended.
 * @returns the program's exit code, or 2 if `--allocator` fits no module. When a signal ended it, this process dies by
 * the same signal.
 * @throws UserError before the program has started.
 */
export async function runNode(run: NodeRun): Promise<number> {
  assertThere(run.command[0]);
  assertPlacesForInherited();
  const template = run.out === undefined ? null : resolve(run.out);
  removeLeftControlFolders();
  // A name with the id of the process that is about to start is unique.
  const isHeld = template !== null && !hasPlaceHolder(template, "p");
  const { onWritten } = run;
  const program = programName(run.command[0]);
  return supervise({ out: template ?? undefined, program, isHeld, onWritten }, ({ claim }) =>
    new NodeSupervisor().run(run, template, claim),
  );
}

/** Finds a script as Node does, where `.js` may be omitted. `-` is standard input. */
function assertThere(script: string): void {
  if (script === "-" || /^[a-z]+:/.test(script)) return;
  let file: string;
  try {
    file = createRequire(resolve("script.js")).resolve(resolve(script));
  } catch {
    const isFolder = statSync(script, { throwIfNoEntry: false })?.isDirectory() === true;
    throw new UserError(`${script}: ${isFolder ? "it is a folder without a program" : "no such file"}`);
  }
  // Node would wait for a pipe's writer, and read a device without end.
  if (!statSync(file).isFile()) throw new UserError(`${script}: it is not a regular file`);
}

/** Final profile that is being written. */
interface Writing {
  folder: string;
  /** Signals that caused it, or arrived meanwhile. */
  signals: EndSignals;
}

/** Supervises the program's processes. */
class NodeSupervisor {
  #server!: ControlServer;
  #child!: ChildProcess;
  #sawModule = false;
  /** True if the program has started processes that are not recorded. */
  #hasChildren = false;
  #isComplete = true;
  #isRecorded = false;
  #isProfileSettled = false;
  /** Final profile of the process that was started, while it is written. */
  #writing: Writing | undefined;
  #isInterrupted = false;
  readonly #allocatorOption = new OptionFit();
  #dyingBySignal: NodeJS.Signals | undefined;
  /** Requests to processes whose recording thread has not connected yet. */
  readonly #waiting = new Map<number, ControlRequest[]>();
  readonly #linesForTheEnd: (() => void)[] = [];
  #isQuiet = false;
  #written: string | undefined;

  async run(run: NodeRun, template: string | null, claim: FolderClaim | undefined): Promise<RunOutcome> {
    this.#isQuiet = run.isQuiet === true;
    const opening = ControlServer.open((message, from) => this.#onMessage(message, from));
    try {
      this.#server = await unlessSignalled(() => opening);
    } catch (error) {
      (await opening).close();
      throw error;
    }
    const warning = memoryWarning(run.tools);
    if (warning !== undefined) say(warning);
    try {
      this.#child = this.#start(run, template, claim !== undefined);
    } catch (error) {
      this.#server.close();
      throw new UserError(`cannot start Node: ${describeSystemError(error)}`);
    }
    const stopWatching = watchMemory(run.tools, say);
    const passOn = (signal: NodeJS.Signals): void => this.#passOn(signal);
    const stopListening = onSignals({
      SIGINT: passOn,
      SIGTERM: passOn,
      SIGHUP: passOn,
      SIGUSR2: () => this.#requestDumps(),
    });
    const ended = await waitForEnd(this.#child);
    await this.#server.drain(this.#child.pid ?? 0);
    this.#server.close();
    // A killed process may have left files.
    if (this.#writing !== undefined && !this.#isProfileSettled)
      settleLeftovers(dirname(this.#writing.folder));
    stopWatching();
    stopListening();

    for (const sayLine of this.#linesForTheEnd) sayLine();
    const signal = this.#endSignal(ended);
    if (ended.error !== undefined) say(`cannot start Node: ${describeSystemError(ended.error)}`);
    // A process with this exit code has printed the reason itself.
    else if (ended.code !== NOT_WRITTEN) this.#sayWhatIsMissing(signal);
    if (this.#hasChildren)
      say(
        "the program started other processes, which were not recorded: --trace-children records the Node processes",
      );
    if (ended.signal === "SIGKILL" && warning !== undefined)
      say(`the program was killed, perhaps because memory ran out: ${warning}`);
    const { mistake } = this.#allocatorOption;
    if (mistake !== undefined) say(mistake);
    const written = this.#written;
    if (!this.#isComplete) return { code: NOT_WRITTEN, written };
    return { code: mistake === undefined ? (ended.code ?? 1) : 2, signal, written };
  }

  #endSignal(ended: ChildEnd): NodeJS.Signals | null {
    const noted = this.#writing?.signals.signal;
    if (this.#isInterrupted) return noted ?? ended.signal;
    if (ended.signal === "SIGKILL") return this.#dyingBySignal ?? ended.signal;
    return ended.signal ?? noted ?? this.#dyingBySignal ?? null;
  }

  #sayWhatIsMissing(signal: NodeJS.Signals | null): void {
    const isLost = this.#isRecorded ? !this.#isProfileSettled : !this.#sawModule && signal === "SIGKILL";
    if (isLost && this.#isInterrupted) sayInterrupted(this.#writing!.folder, process.cwd());
    else if (isLost)
      say(
        `the program was ended${signal === null ? "" : ` by ${signal}`} before its profile was written: nothing is saved`,
      );
    else if (!this.#sawModule) say("no WebAssembly module was instantiated; nothing was written");
  }

  #start(run: NodeRun, template: string | null, lends: boolean): ChildProcess {
    const settings: HookSettings = {
      tools: run.tools,
      cwd: process.cwd(),
      out: template,
      script: run.command[0],
      isDirectChild: true,
      lender: lends ? ownIdentity() : undefined,
      compiledCode: compiledCodeFolder(),
      socket: this.#server.path,
      traceChildren: run.traceChildren ?? false,
    };
    const hookPath = fileURLToPath(siblingModule(import.meta.url, "register", "cjs"));
    const started = spawn(process.execPath, [...run.nodeOptions, "--require", hookPath, ...run.command], {
      stdio: inheritedStdio(),
      env: childEnvironment(settings, hookPath),
    });
    closeInherited();
    return started;
  }

  #onMessage(message: ControlMessage, from: Peer): void {
    switch (message.kind) {
      case "hello":
        for (const request of this.#waiting.get(from.pid) ?? []) from.say(request);
        this.#waiting.delete(from.pid);
        return;
      case "instantiated":
        if (from.pid === this.#child.pid) this.#isRecorded = true;
        this.#sawModule = true;
        return;
      case "unprofiled":
        this.#sawModule = true;
        return;
      case "child-started":
        this.#hasChildren = true;
        return;
      case "allocator-option":
        this.#allocatorOption.take(message.mismatch);
        return;
      case "dying":
        if (from.pid === this.#child.pid) this.#dyingBySignal = message.signal;
        return;
      case "killed":
        this.#request(message.pid, signalRequest(message.signal, true));
        return;
      case "writing":
        if (from.pid === this.#child.pid) this.#beginWriting(message.folder, message.signal ?? undefined);
        return;
      case "not-written":
        this.#isComplete = false;
        if (message.what === "profile" && from.pid === this.#child.pid) this.#isProfileSettled = true;
        return;
      case "written": {
        const { folder, what } = message;
        const isOwn = what === "profile" && from.pid === this.#child.pid;
        if (isOwn) {
          this.#isProfileSettled = true;
          this.#written = folder;
        }
        if (this.#isQuiet) return;
        const sayLine = () => sayWritten(folder, process.cwd(), what);
        // The program's own last output comes first.
        if (isOwn) this.#linesForTheEnd.push(sayLine);
        else sayLine();
      }
    }
  }

  /**
   * Passes a signal on to the program. A terminal sends its signals to all processes, so every recorded one is
   * notified.
   */
  #passOn(signal: NodeJS.Signals): void {
    if (this.#writing !== undefined && !this.#isProfileSettled) {
      this.#writing.signals.take(signal);
      return;
    }
    const pid = this.#child.pid ?? 0;
    if (isFromTerminal(signal)) {
      const otherPids = [...this.#server.peers].map((peer) => peer.pid).filter((other) => other !== pid);
      for (const concerned of [pid, ...otherPids]) this.#request(concerned, signalRequest(signal, true));
    } else if (this.#server.peer(pid) !== undefined) {
      this.#request(pid, signalRequest(signal, false));
    } else {
      // The process has not used WebAssembly yet, or its recording thread is still starting.
      this.#child.kill(signal);
      this.#request(pid, signalRequest(signal, true));
    }
  }

  /** Begins the final profile. The first signal lets it be finished; a later one ends the process. */
  #beginWriting(folder: string, signal: NodeJS.Signals | undefined): void {
    const signals = new EndSignals(
      () => {},
      () => {
        this.#isInterrupted = true;
        this.#child.kill("SIGKILL");
      },
    );
    if (signal !== undefined) signals.begin(signal);
    this.#writing = { folder, signals };
  }

  /** Sends a request to a process, now or when its recording thread has started. */
  #request(pid: number, request: ControlRequest): void {
    const peer = this.#server.peer(pid);
    if (peer !== undefined) peer.say(request);
    else this.#waiting.set(pid, [...(this.#waiting.get(pid) ?? []), request]);
  }

  #requestDumps(): void {
    const peers = [...this.#server.peers];
    for (const peer of peers) peer.say({ kind: "dump" });
    if (peers.length > 0) return;
    this.#request(this.#child.pid ?? 0, { kind: "dump" });
    say("no WebAssembly module has been instantiated yet; a dump follows as soon as there is one");
  }
}

/** Returns the folder in which this process caches its compiled code. Node adds a folder for each version. */
function compiledCodeFolder(): string | undefined {
  const folder = module.getCompileCacheDir();
  return folder === undefined ? undefined : dirname(folder);
}

function signalRequest(signal: NodeJS.Signals, isDelivered: boolean): ControlRequest {
  return { kind: "signal", signal, isDelivered, time: Date.now() };
}

interface ChildEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  error?: Error;
}

function waitForEnd(child: ChildProcess): Promise<ChildEnd> {
  return new Promise((done) => {
    child.on("error", (error) => done({ code: 127, signal: null, error }));
    child.on("exit", (code, signal) => done({ code, signal }));
  });
}

function childEnvironment(settings: HookSettings, hookPath: string): NodeJS.ProcessEnv {
  const inheritedEnvironment = programEnvironment();
  const environment: NodeJS.ProcessEnv = {
    ...inheritedEnvironment,
    [SETTINGS_VARIABLE]: JSON.stringify(settings),
  };
  if (settings.traceChildren) {
    const quoted = `"${hookPath.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
    environment.NODE_OPTIONS = [inheritedEnvironment.NODE_OPTIONS, "--require", quoted]
      .filter(Boolean)
      .join(" ");
  }
  return environment;
}

/** Hooked process with a connection. */
interface Peer {
  pid: number;
  parentPid: number;
  say(word: ControlWord): void;
}

const DRAIN_TURNS = 50;
const DRAIN_TURN_MS = 10;

/** Listens for the recording threads of hooked processes. */
class ControlServer {
  readonly path: string;
  readonly #server: Server;
  readonly #peers = new Set<Peer>();
  readonly #sockets = new Set<Socket>();
  /** Connections that have not sent `hello` yet. */
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

  /** Resolves when all messages of an ended process have been read. */
  async drain(pid: number): Promise<void> {
    for (let turns = 0; turns < DRAIN_TURNS; turns++) {
      await new Promise((done) => setTimeout(done, DRAIN_TURN_MS));
      if (this.#unidentified === 0 && this.peer(pid) === undefined) return;
    }
  }

  /** Closes the connections. Processes that continue are notified that the supervisor leaves. */
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
