import workerThreads, {
  BroadcastChannel,
  type MessagePort,
  receiveMessageOnPort,
  threadId,
  type Worker,
} from "node:worker_threads";
import type { RunEnd } from "../../../../profile/model/run.ts";
import type { InstrumentedInfo } from "../../../tools/index.ts";
import type { SharedShadow } from "../../instance/shared-shadows.ts";
import { NOT_WRITTEN } from "../../run/profile-failure.ts";
import { say } from "../../run/terminal-line.ts";
import { siblingModule } from "../../sibling-module.ts";
import type { ThreadSettings } from "../settings.ts";
import type { RecordingLink } from "../thread-recorder.ts";
import type { Ping, RecordingMessage } from "./messages.ts";
import type { RecordingThreadData } from "./recording-thread.ts";
import { isRecordingAlive, noteRewriting, StateWord } from "./shared-state.ts";
import { openReply, type Reply, waitForReply } from "./sync-reply.ts";

/** Original class from before the hook, since the recording thread is not one of the program's. */
const NativeWorker = workerThreads.Worker;

const START_WITHIN_MS = 10_000;

const FAILED =
  "the recording thread has failed: nothing is written. " +
  "If no reason is printed above, it probably ran out of memory: --node-arg=--max-old-space-size=MIB gives it more";

/** Node's own way to end a process, without notifying the program. */
type NodeProcess = typeof process & { reallyExit(code: number): never };

abstract class Link implements RecordingLink {
  readonly thread = threadId;
  /** Determines which live blocks of this thread's instances are reachable. */
  findReach: () => void = () => {};
  protected readonly state: Int32Array;
  #channels = 0;

  constructor(state: Int32Array) {
    this.state = state;
  }

  abstract post(message: RecordingMessage): void;

  rewrote(ms: number): void {
    noteRewriting(this.state, ms);
  }

  flush(id: string): void {
    this.ask((reply) => ({ kind: "flush", id, reply }));
  }

  /** Writes a dump folder. Undefined: the recording thread is gone. */
  dump(): Reply | undefined {
    this.findReach();
    return this.ask((reply) => ({ kind: "dump", reply }));
  }

  reset(): void {
    this.ask((reply) => ({ kind: "reset", reply }));
  }

  sharedShadow(
    program: WebAssembly.Memory,
    moduleKey: string,
    info: InstrumentedInfo,
  ): SharedShadow | undefined {
    const to = `memshade-${process.pid}-${threadId}-${++this.#channels}`;
    const channel = new BroadcastChannel(to);
    try {
      const reply = this.ask((reply) => ({ kind: "shadow", program, moduleKey, info, to, reply }));
      const received = receiveMessageOnPort(channel as unknown as MessagePort);
      return reply?.ok && received !== undefined
        ? { memory: received.message, group: reply.text }
        : undefined;
    } finally {
      channel.close();
    }
  }

  protected ask(message: (reply: SharedArrayBuffer) => RecordingMessage): Reply | undefined {
    const reply = openReply();
    this.post(message(reply));
    return waitForReply(reply, () => isRecordingAlive(this.state));
  }
}

const YOUNG_MEGABYTES = 4;

/**
 * Link of the main thread. The recording thread is started at once, since it also ends the process together with the
 * one that supervises it. It records from the first message on.
 */
export class MainThreadLink extends Link {
  readonly #onRecording: () => void;
  readonly #worker: Worker;
  #isRecording = false;
  #hasFailed = false;
  #hasFinished = false;

  constructor(data: RecordingThreadData, onRecording: () => void) {
    super(data.settings.state);
    this.#onRecording = onRecording;
    this.#worker = this.#start(data);
  }

  override post(message: RecordingMessage): void {
    this.#record();
    this.#worker.postMessage(message);
  }

  #record(): void {
    if (this.#isRecording) return;
    this.#isRecording = true;
    this.#onRecording();
  }

  #start(workerData: RecordingThreadData): Worker {
    const worker = new NativeWorker(siblingModule(import.meta.url, "recording-start"), {
      name: "memshade",
      workerData,
      env: {},
      execArgv: [],
      // Objects for a profile mostly live until the files are written, so a large young generation would only cost
      // memory.
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEGABYTES },
      stdout: true,
      stderr: true,
    });
    worker.on("message", ({ number, looks }: Ping) => {
      if (looks) this.findReach();
      Atomics.store(this.state, StateWord.Pong, number);
    });
    worker.on("error", () => Atomics.store(this.state, StateWord.Recording, 2));
    worker.unref();
    return worker;
  }

  /** Waits until the recording thread listens to the threads that are about to start. */
  startAndWait(): void {
    this.#record();
    this.#waitForStart();
  }

  #waitForStart(): void {
    Atomics.wait(this.state, StateWord.Recording, 0, START_WITHIN_MS);
  }

  /** Waits until the final profile is written. Only the first call has an effect. */
  finish(end: RunEnd): void {
    if (!this.#isRecording || this.#hasFailed) return;
    if (!this.#hasFinished) this.findReach();
    this.#hasFinished = true;
    this.#waitForStart();
    // A thread that cannot be created is reported by an event, which does not arrive while this thread waits.
    Atomics.compareExchange(this.state, StateWord.Recording, 0, 2);
    if (this.ask((reply) => ({ kind: "finish", end, reply })) !== undefined) return;
    this.#hasFailed = true;
    say(FAILED);
    process.exitCode = NOT_WRITTEN;
    // The exit code is the same after signals, as when a profile cannot be written.
    if (end.kind === "signal") (process as NodeProcess).reallyExit(NOT_WRITTEN);
  }
}

export class WorkerThreadLink extends Link {
  readonly #channel: BroadcastChannel;

  constructor({ channel, state }: ThreadSettings) {
    super(state);
    this.#channel = new BroadcastChannel(channel);
    this.#channel.unref();
  }

  override post(message: RecordingMessage): void {
    this.#channel.postMessage(message);
  }
}
