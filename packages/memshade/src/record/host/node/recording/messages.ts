import type { RunEnd } from "../../../../profile/model/run.ts";
import type { KnownReach } from "../../../tools/heap/read/reach/apply-reach.ts";
import type { InstrumentedInfo } from "../../../tools/index.ts";
import type { SharedPlace } from "../../../tools/session.ts";
import type { ShadowMemories } from "../../instance/host-calls.ts";
import type { HostStackNews } from "../../instance/host-stacks.ts";
import type { KeptInstance } from "../made-instances.ts";

/** Messages from the threads of a program to the recording thread. */
export type RecordingMessage =
  | { kind: "module"; key: string; original: Uint8Array }
  /** Requests that a rewritten module be cached. */
  | { kind: "rewritten"; path: string; bytes: Uint8Array }
  | {
      kind: "instance";
      id: string;
      thread: number;
      moduleKey: string;
      memories: ShadowMemories;
      info: InstrumentedInfo;
      path: string | null;
      place?: SharedPlace | undefined;
      maker?: number | undefined;
    }
  /** Requests the shadow memory of a shared memory. It is sent over the channel `to`, its group in the reply. */
  | {
      kind: "shadow";
      program: WebAssembly.Memory;
      moduleKey: string;
      info: InstrumentedInfo;
      to: string;
      reply: SharedArrayBuffer;
    }
  | { kind: "stacks"; thread: number; news: HostStackNews }
  /** Reachability of an instance's live blocks. A new one replaces it at a dump or at the program's end. */
  | { kind: "reach"; id: string; reach: KnownReach | undefined }
  | { kind: "released"; id: string }
  /** An instance with a known creator is gone. */
  | { kind: "dropped"; id: string }
  | { kind: "kept"; thread: number; kept: readonly KeptInstance[] }
  | { kind: "thread-ended"; thread: number }
  | { kind: "note"; sentence: string }
  /** Reports whether `--allocator` fits a module; if not, why. */
  | { kind: "allocator-option"; mismatch?: string }
  | { kind: "killed"; pid: number; signal: string }
  | { kind: "child-started" }
  | { kind: "flush"; id: string; reply: SharedArrayBuffer }
  | { kind: "dump"; reply: SharedArrayBuffer }
  | { kind: "reset"; reply: SharedArrayBuffer }
  | { kind: "finish"; end: RunEnd; reply: SharedArrayBuffer };

/** Request of the recording thread to the main thread, answered from its event loop. */
export interface Ping {
  number: number;
  /** True if it must search its instances for live blocks first. */
  looks: boolean;
}

/** Messages from a recording thread to the `memshade node` process, as lines of JSON. */
export type ControlMessage =
  | { kind: "hello"; pid: number; parentPid: number }
  | { kind: "instantiated" }
  | { kind: "unprofiled" }
  | { kind: "child-started" }
  /** The final profile is being written, because of a signal or not. */
  | { kind: "writing"; folder: string; signal: NodeJS.Signals | null }
  | { kind: "allocator-option"; mismatch?: string }
  | { kind: "written"; folder: string; what: "profile" | "dump" }
  /** A file could not be written, and a message was printed. */
  | { kind: "not-written"; what: "profile" | "dump" | "learned" }
  | { kind: "dying"; signal: NodeJS.Signals }
  | { kind: "killed"; pid: number; signal: NodeJS.Signals };

export type ControlRequest = { kind: "dump" } | SignalRequest;

/** Messages of the supervising process. `leaving`: it ends, while the recorded process continues. */
export type ControlWord = ControlRequest | { kind: "leaving" };

/** Signal to the supervising process that concerns a recorded process. */
export interface SignalRequest {
  kind: "signal";
  signal: NodeJS.Signals;
  /** True if the process has received the signal too. If not, it must be passed on. */
  isDelivered: boolean;
  /** Arrival time as by `Date.now()`. */
  time: number;
}
