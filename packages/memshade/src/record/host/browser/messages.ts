import type { KnownReach } from "../../tools/heap/read/reach/apply-reach.ts";
import type { InstanceReach } from "../../tools/heap/read/reach/sum-up.ts";
import type { InstrumentedInfo, ShadowLayout } from "../../tools/index.ts";
import type { SharedPlace } from "../../tools/session.ts";
import type { MemoryRange } from "../../tools/unused-tables.ts";
import type { ShadowMemories } from "../instance/host-calls.ts";
import type { HostStackNews } from "../instance/host-stacks.ts";

/** Settings of an agent, defined before its script as `const memshadeSettings = …`. */
export interface AgentSettings {
  /** Secret name of this run in pages. */
  token: string;
  /** True in a worker or worklet. These have no address before they have started. */
  isWorker: boolean;
  /** Origins of the top-level pages whose modules are profiled; undefined: all. */
  origins: readonly string[] | undefined;
}

/** Script name of the agent's own frames in stack traces. */
export const AGENT_SCRIPT = "memshade:agent";

/** Largest contents of one message, bytes before encoding. */
export const PIECE_BYTES = 1 << 20;

export interface TableReader {
  /** Returns the ranges of a shadow memory, by its name, that the process reads. */
  usedParts(
    name: keyof ShadowMemories,
    memories: ShadowMemories,
    info: InstrumentedInfo,
  ): readonly MemoryRange[];
  /** Returns which live blocks of an instance are reachable. */
  findReach(
    exports: WebAssembly.Exports,
    info: InstrumentedInfo,
    original: Uint8Array | undefined,
  ): KnownReach | undefined;
  /** Starts the recording anew, as the recorder does. */
  reset(memories: ShadowMemories, info: InstrumentedInfo): void;
}

/** Way of an answer: in pieces that the process pushes, or over an address that the agent requests. */
export type AnswerWay = "push" | "request";

/**
 * Messages from agent to process, with contents in base64 after a line break. The agent numbers its modules and
 * instances.
 */
export type AgentMessage =
  | { kind: "hello"; url: string | undefined; isWorker: boolean }
  | { kind: "part"; id: number }
  | {
      kind: "rewrite";
      id: number;
      address: string | undefined;
      caller: readonly string[];
      way: AnswerWay;
      /** Path of the answer after the run's own part of the address; undefined: the answer is not requested. */
      place: string | undefined;
      beside: ShadowLayout | undefined;
      reason?: string | undefined;
    }
  /** Request to push an answer, since it did not arrive over the address. */
  | { kind: "push"; id: number }
  /** Request to interrupt the agent, which waits in a loop. */
  | { kind: "interrupt"; id: number }
  | { kind: "rejected"; key: string; name: string; reason: string }
  | {
      kind: "instance";
      id: number;
      info: InstrumentedInfo;
      path: string | null;
      place: SharedPlace | undefined;
      memories: Readonly<Record<string, number>>;
    }
  /**
   * Start of a new image of a shadow memory between two addresses. Once it is done, it replaces the old contents. The
   * pieces have pairs of address and length in `runs`, and the bytes one after the other.
   */
  | { kind: "begin"; id: number; memory: string; from: number; to: number }
  | { kind: "data"; id: number; memory: string; runs: readonly number[] }
  | { kind: "done"; id: number; memory: string }
  | { kind: "flush"; id: number }
  /** Reachability of an instance's live blocks, with numbers as plain arrays. */
  | { kind: "reach"; id: number; reach: SentReach | undefined }
  | { kind: "released"; id: number }
  /** Name that another context has given to this worker. */
  | { kind: "named"; worker: string }
  | { kind: "ending"; worker: string }
  | { kind: "stacks"; news: HostStackNews }
  | { kind: "note"; sentence: string };

export type SentReach =
  | { unknown: string }
  | (Omit<InstanceReach, "contexts" | "sums"> & { contexts: readonly number[]; sums: readonly number[] });

/** Head of an answer, as JSON after its length (a u32). The bytes of the rewritten module follow. */
export interface AnswerHead {
  info: InstrumentedInfo;
  key: string;
  path: string | null;
}
