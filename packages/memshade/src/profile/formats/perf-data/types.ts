import type { ProcessArchitecture } from "../../model/process-image.ts";

export interface PerfEvent {
  /** Name as perf prints it: `cycles:u`. */
  readonly name: string;
  readonly sampleType: number;
  readonly readFormat: number;
  readonly branchSampleType: number;
  readonly hasSampleIds: boolean;
  /** Bit per register of perf's numbering, low and high half. */
  readonly userRegisters: readonly [low: number, high: number];
  readonly ids: readonly string[];
}

export interface PerfHeader {
  readonly events: readonly PerfEvent[];
  readonly architecture: ProcessArchitecture | undefined;
  readonly commandLine: readonly string[];
  /** Build ids, in hexadecimal, by the path of the mapping. */
  readonly buildIds: ReadonlyMap<string, string>;
}

/** Mapping of a file, or of anonymous memory, into a process or the kernel. */
export interface PerfMapping {
  readonly kind: "mmap";
  readonly pid: number;
  readonly start: number;
  readonly length: number;
  readonly fileOffset: number;
  readonly path: string;
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

/** Sample whose arrays are views of the file's bytes. */
export interface PerfSample {
  readonly kind: "sample";
  readonly event: number;
  readonly pid: number;
  readonly tid: number;
  /** Nanoseconds of the recording's clock; 0 if times were not recorded. */
  readonly time: number;
  /** Number of events that the sample represents; 1 if periods were not recorded. */
  readonly period: number;
  /** Instruction pointer; rounded above 2^53, where only kernel addresses are. */
  readonly ip: number;
  /** Values of the event's user registers in the order of their bits: 64-bit words. */
  readonly registers: DataView | undefined;
  /** Copied part of the stack, from the user stack pointer on. */
  readonly stack: Uint8Array | undefined;
  /** Requested bytes of the stack; fewer exist near its end. 0 without a stack. */
  readonly stackRoom: number;
}

export type PerfRecord = PerfMapping | PerfName | PerfFork | PerfLost | PerfSample;
