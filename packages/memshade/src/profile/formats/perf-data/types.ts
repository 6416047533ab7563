import type { ProcessArchitecture } from "../../model/process-image.ts";

/** One kind of event that was sampled. */
export interface PerfEvent {
  /** As perf prints it: `cycles:u`. */
  readonly name: string;
  readonly sampleType: number;
  readonly readFormat: number;
  readonly branchSampleType: number;
  readonly hasSampleIds: boolean;
  /** Bit per register of perf's numbering, low and high half. */
  readonly userRegisters: readonly [low: number, high: number];
  /** Ids by which samples name the event, as text of 64 bits in hexadecimal. */
  readonly ids: readonly string[];
}

/** What is known before the first sample. */
export interface PerfHeader {
  readonly events: readonly PerfEvent[];
  readonly architecture: ProcessArchitecture | undefined;
  readonly commandLine: readonly string[];
  /** Build ids, in hexadecimal, of files by the paths that mappings name. */
  readonly buildIds: ReadonlyMap<string, string>;
}

/** A file, or a piece without one, came into the memory of a process or of the kernel. */
export interface PerfMapping {
  readonly kind: "mmap";
  readonly pid: number;
  readonly start: number;
  readonly length: number;
  readonly fileOffset: number;
  readonly path: string;
  /** Hexadecimal. */
  readonly buildId: string | undefined;
}

export interface PerfName {
  readonly kind: "comm";
  readonly tid: number;
  readonly name: string;
}

export interface PerfFork {
  readonly kind: "fork";
  readonly tid: number;
  readonly parentTid: number;
}

export interface PerfLost {
  readonly kind: "lost";
  readonly count: number;
}

/** A sample. Its arrays are views of the file's bytes. */
export interface PerfSample {
  readonly kind: "sample";
  /** Index into the events of the header. */
  readonly event: number;
  readonly pid: number;
  readonly tid: number;
  /** Nanoseconds of the recording's clock; 0 if times were not recorded. */
  readonly time: number;
  /** How many events the sample stands for; 1 if periods were not recorded. */
  readonly period: number;
  /** Where the program was; rounded above 2^53, where only the kernel's addresses lie. */
  readonly ip: number;
  /** The values of the event's user registers in the order of their bits: 64-bit words. */
  readonly registers: DataView | undefined;
  /** The stack from the user stack pointer on, as much as was copied of it. */
  readonly stack: Uint8Array | undefined;
  /** How many bytes of the stack were asked for: there are fewer where it ends. 0 without a stack. */
  readonly stackRoom: number;
}

export type PerfRecord = PerfMapping | PerfName | PerfFork | PerfLost | PerfSample;
