import { bytesOfBase64 } from "../../../ground/bytes/base64.ts";
import type { PerfRecordsWasm } from "../../../profile/formats/perf-data/index.ts";
import { SAMPLES_BASE64 } from "../assembly.generated.ts";

/** What `assembly/` exports. Addresses are those in the memory that it shares with the reader of records. */
export interface SamplesWasm
  extends Readonly<
    Record<
      | "kernel"
      | "kernelCount"
      | "frames"
      | "frameCount"
      | "end"
      | "foreignSamples"
      | "damagedSamples"
      | "addresses"
      | "places"
      | "PLACE_BYTES"
      | "MAPPING_BYTES",
      WebAssembly.Global<"i32">
    >
  > {
  begin(sample: number, isText: number, isWalked: number, isGuessed: number, maxFrames: number): void;
  beginLayouts(events: number): number;
  reserveAddresses(count: number): number;
  nextRecord(): number;
  /** Of the process of the last sample: a number that changes with what is mapped in it. */
  processVersion(): number;
  processMappings(): number;
  processMappingCount(): number;
  forgetNames(): void;
  setMapping(mapping: number, bias: number): void;
  setRule(rule: number, cfaOffset: number, framePointerOffset: number): void;
  finishText(): void;
}

/** What it calls; each answers by a call of the function of `SamplesWasm` that is named. */
export interface SamplesHost {
  /** `begin`: the first record was met */
  start(): void;
  /** Number of a file << 1, + 1 if it is no file but a name for memory; `buildId` may have no bytes. */
  nameFile(name: number, nameBytes: number, buildId: number, buildIdBytes: number): number;
  /** `setMapping` */
  openMapping(mapping: number): void;
  /** `setRule`, for an address of a file (SVMA) */
  findRule(file: number, address: number): void;
  /** Whether an address of a file (SVMA) looks like one that a call returns to. */
  isReturnAddress(file: number, address: number): boolean;
  /** Unwinds the last sample into `addresses`: returns how many there are << 8 | the index of how the stack ends. */
  unwind(): number;
  /** Takes text, which will be overwritten. */
  write(address: number, bytes: number): void;
  /** Numbers of places begin anew. */
  forgetPlaces(): void;
}

let compiled: WebAssembly.Module | undefined;

/** A new instance, which works in the memory of a reader of records. */
export function instantiateSamples(records: PerfRecordsWasm, host: SamplesHost): SamplesWasm {
  compiled ??= new WebAssembly.Module(bytesOfBase64(SAMPLES_BASE64));
  const { memory, next, decode, allocate } = records;
  const imports = { env: { memory }, records: { next, decode, allocate }, host: { ...host } };
  return new WebAssembly.Instance(compiled, imports).exports as unknown as SamplesWasm;
}
