import type { RunEnd } from "../../../profile/model/run.ts";
import type { KnownReach } from "../../tools/heap/read/reach/apply-reach.ts";
import type { InstrumentedInfo } from "../../tools/index.ts";
import type { ShadowMemories } from "../instance/host-calls.ts";

/** Data for the thread that runs a WASI program. */
export interface WasiProgram {
  module: WebAssembly.Module;
  info: InstrumentedInfo;
  original: Uint8Array;
  version: "preview1" | "unstable";
  /** Name of the program, then its arguments. */
  args: string[];
  env: Record<string, string>;
  /** Guest path to host path. */
  preopens: Record<string, string>;
  /** Function to call instead of `_start`. */
  invoke: { name: string; values: (number | bigint)[] } | undefined;
}

export type WasiMessage =
  | { kind: "instance"; memories: ShadowMemories }
  | { kind: "flush"; answer: Int32Array }
  | { kind: "result"; text: string }
  | { kind: "reach"; reach: KnownReach | undefined }
  | { kind: "end"; end: RunEnd };
