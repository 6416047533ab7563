import type { KnownReach } from "../../tools/heap/read/reach/apply-reach.ts";
import type { InstanceReach } from "../../tools/heap/read/reach/sum-up.ts";
import type { InstrumentedInfo, ShadowLayout } from "../../tools/index.ts";
import type { SharedPlace } from "../../tools/session.ts";
import type { MemoryRange } from "../../tools/unused-tables.ts";
import type { ShadowMemories } from "../instance/host-calls.ts";
import type { HostStackNews } from "../instance/host-stacks.ts";

/** What an agent is told before it runs: the script stands behind `const memshadeSettings = …`. */
export interface AgentSettings {
  /** Names what is ours in this run: nobody can guess it. */
  token: string;
  /** Whether it runs in a worker or worklet, which must not be asked where they are before they have started. */
  isWorker: boolean;
  /** Origins of the top-level pages whose modules are profiled; undefined: all. */
  origins: readonly string[] | undefined;
}

/** The name that the agent's own frames have in stack traces. */
export const AGENT_SCRIPT = "memshade:agent";

/** Largest contents of one message, bytes before they become text. */
export const PIECE_BYTES = 1 << 20;

/** What reads an instance's tables in its own context. */
export interface TableReader {
  /** The parts of a shadow memory, by its name, that somebody reads. */
  usedParts(
    name: keyof ShadowMemories,
    memories: ShadowMemories,
    info: InstrumentedInfo,
  ): readonly MemoryRange[];
  /** Which live blocks of an instance can still be reached. */
  lookThrough(
    exports: WebAssembly.Exports,
    info: InstrumentedInfo,
    original: Uint8Array | undefined,
  ): KnownReach | undefined;
  /** Forgets what was recorded so far, as the recorder does. */
  reset(memories: ShadowMemories, info: InstrumentedInfo): void;
}

/** How an answer comes back: in pieces that the process pushes, or over an address that the agent asks for. */
export type AnswerWay = "push" | "request";

/** Agent → process, with contents in base64 behind a line break. Numbers of modules and instances are the agent's own. */
export type AgentMessage =
  | { kind: "hello"; url: string | undefined; isWorker: boolean }
  /** A part of the bytes of a module. */
  | { kind: "part"; id: number }
  | {
      kind: "rewrite";
      id: number;
      address: string | undefined;
      caller: readonly string[];
      way: AnswerWay;
      /** Where it asks for the answer, behind the run's own part of the address; undefined: nowhere. */
      place: string | undefined;
      beside: ShadowLayout | undefined;
      /** Why the waste tool is to be left out. */
      reason?: string | undefined;
    }
  /** Over the address it did not come: push it. */
  | { kind: "push"; id: number }
  /** The agent waits in a loop: interrupt it. */
  | { kind: "interrupt"; id: number }
  | { kind: "rejected"; key: string; name: string; reason: string }
  | {
      kind: "instance";
      id: number;
      info: InstrumentedInfo;
      path: string | null;
      place: SharedPlace | undefined;
      /** Its shadow memories by their names, and their sizes in bytes. */
      memories: Readonly<Record<string, number>>;
    }
  /** The image of a shadow memory between two addresses is about to come: once it is done, what it had there is void. */
  | { kind: "begin"; id: number; memory: string; from: number; to: number }
  /** Pieces of it: pairs of address and length in `runs`, one after the other in the contents. */
  | { kind: "data"; id: number; memory: string; runs: readonly number[] }
  | { kind: "done"; id: number; memory: string }
  | { kind: "flush"; id: number }
  /** What was found of an instance's live blocks; numbers as plain arrays. */
  | { kind: "reach"; id: number; reach: SentReach | undefined }
  | { kind: "released"; id: number }
  /** It is the worker that another context calls so. */
  | { kind: "named"; worker: string }
  /** A worker is about to be ended by who has made it. */
  | { kind: "ending"; worker: string }
  | { kind: "stacks"; news: HostStackNews }
  | { kind: "note"; sentence: string };

/** `KnownReach` as JSON. */
export type SentReach =
  | { unknown: string }
  | (Omit<InstanceReach, "contexts" | "sums"> & { contexts: readonly number[]; sums: readonly number[] });

/** What stands before the bytes of a rewritten module in an answer, as JSON behind its length, a u32. */
export interface AnswerHead {
  info: InstrumentedInfo;
  key: string;
  path: string | null;
}
