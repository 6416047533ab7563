import type { RunEnd } from "../../../../profile/model/run.ts";
import type { KnownReach } from "../../../tools/heap/read/reach/apply-reach.ts";
import type { InstrumentedInfo } from "../../../tools/index.ts";
import type { SharedPlace } from "../../../tools/session.ts";
import type { ShadowMemories } from "../../instance/host-calls.ts";
import type { HostStackNews } from "../../instance/host-stacks.ts";
import type { KeptInstance } from "../made-instances.ts";

/** What the threads of a program tell the thread that records. */
export type RecordingMessage =
  | { kind: "module"; key: string; original: Uint8Array }
  | {
      kind: "instance";
      id: string;
      thread: number;
      moduleKey: string;
      memories: ShadowMemories;
      info: InstrumentedInfo;
      path: string | null;
      place?: SharedPlace | undefined;
      /** Number of the stack that made it. */
      maker?: number | undefined;
    }
  /** Asks for the shadow memory of a shared memory: it comes over the channel `to`, its group in the reply. */
  | {
      kind: "shadow";
      program: WebAssembly.Memory;
      moduleKey: string;
      info: InstrumentedInfo;
      to: string;
      reply: SharedArrayBuffer;
    }
  /** Stacks by which a thread has entered modules. */
  | { kind: "stacks"; thread: number; news: HostStackNews }
  /** What was found of an instance's live blocks; others follow from the program's end, or from a dump, at once. */
  | { kind: "reach"; id: string; reach: KnownReach | undefined }
  | { kind: "released"; id: string }
  /** An instance whose maker is known is gone. */
  | { kind: "dropped"; id: string }
  /** The instances of a thread that are still there. */
  | { kind: "kept"; thread: number; kept: readonly KeptInstance[] }
  | { kind: "thread-ended"; thread: number }
  | { kind: "note"; sentence: string }
  /** Whether `--allocator` fits a module; if not, why. */
  | { kind: "allocator-option"; mismatch?: string }
  | { kind: "killed"; pid: number; signal: string }
  /** The program has started another process, which is not recorded. */
  | { kind: "child-started" }
  | { kind: "flush"; id: string; reply: SharedArrayBuffer }
  | { kind: "dump"; reply: SharedArrayBuffer }
  | { kind: "reset"; reply: SharedArrayBuffer }
  | { kind: "finish"; end: RunEnd; reply: SharedArrayBuffer };

/** The recording thread asks the main thread to answer when it comes round. */
export interface Ping {
  number: number;
  /** After it has looked through its instances. */
  looks: boolean;
}

/** Lines of JSON between a recording thread and the `memshade node` process. */
export type ControlMessage =
  | { kind: "hello"; pid: number; parentPid: number }
  | { kind: "instantiated" }
  | { kind: "unprofiled" }
  | { kind: "child-started" }
  /** The profile that ends the run is being written, because of a signal or not. */
  | { kind: "writing"; folder: string; signal: NodeJS.Signals | null }
  | { kind: "allocator-option"; mismatch?: string }
  | { kind: "written"; folder: string; what: "profile" | "dump" }
  /** Something that was recorded could not be written, and that was said. */
  | { kind: "not-written"; what: "profile" | "dump" | "learned" }
  | { kind: "dying"; signal: NodeJS.Signals }
  | { kind: "killed"; pid: number; signal: NodeJS.Signals };

export type ControlRequest = { kind: "dump" } | SignalRequest;

/** What the supervising process says: also that it goes, and the recorded process goes on. */
export type ControlWord = ControlRequest | { kind: "leaving" };

/** The supervising process got a signal that concerns a recorded process. */
export interface SignalRequest {
  kind: "signal";
  signal: NodeJS.Signals;
  /** Whether the process has been sent the signal too; if not, it is to be passed on. */
  isDelivered: boolean;
  /** When it came, as by `Date.now()`. */
  time: number;
}
