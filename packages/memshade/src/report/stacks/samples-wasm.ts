import { bytesOfBase64 } from "../../bytes/base64.ts";
import type { PerfRecordsWasm } from "../../formats/perf-data/index.ts";
import { SAMPLES_BASE64 } from "./assembly.generated.ts";

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
      | "BLOCK_WORDS",
      WebAssembly.Global<"i32">
    >
  > {
  begin(sample: number, isText: number, isWalked: number, isGuessed: number, maxFrames: number): void;
  beginLayouts(events: number): number;
  reserveAddresses(count: number): number;
  nextRecord(): number;
  takeSample(): void;
  setProcess(epoch: number, address: number, mappings: number): void;
  forgetProcess(pid: number): void;
  hasPlaces(process: number, start: number, end: number): number;
  fileAt(file: number): number;
  setModule(module: number, bias: number, file: number, hasRules: number): void;
  setRule(rule: number, cfaOffset: number, framePointerOffset: number): void;
  setCie(
    isUsual: number,
    codeAlignment: number,
    dataAlignment: number,
    isSignalFrame: number,
    programStart: number,
    programEnd: number,
  ): void;
  finishText(): void;
}

/** What it calls; each answers by a call of the function of `SamplesWasm` that is named. */
export interface SamplesHost {
  /** `setProcess` */
  findProcess(pid: number): void;
  /** `setModule` */
  openModule(module: number): void;
  /** `setRule`, for an address of a module (SVMA), where no function may be known to be */
  findRule(module: number, address: number, isUncovered: number): void;
  /** Whether a value looks like an address that a call returns to, in the process of the last sample. */
  isReturnAddress(address: number): boolean;
  /** `setCie`, for the CIE at an offset of a file's section */
  readCie(file: number, offset: number): void;
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
