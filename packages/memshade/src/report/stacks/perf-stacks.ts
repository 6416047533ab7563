import type { ByteSource } from "../../bytes/byte-source.ts";
import { FormatError } from "../../bytes/errors.ts";
import {
  type DecompressStream,
  type PerfHeader,
  type PerfSample,
  readPerfData,
  splitCallChain,
} from "../../formats/perf-data/index.ts";
import type { ProcessArchitecture } from "../../model/process-image.ts";
import {
  type CodePlace,
  type EndReason,
  SampleWalker,
  StackImage,
  type UnwindOptions,
} from "../../unwind/index.ts";
import type { KernelText } from "./kernel-symbols.ts";
import type { NativeFile, ObjectSource } from "./native-file.ts";
import { PerfProcesses } from "./perf-processes.ts";
import { SampleRegisters } from "./perf-registers.ts";

/** A sample with the calls that led to where it was taken. */
export interface SampleStack {
  readonly sample: PerfSample;
  readonly threadName: string;
  /** Addresses in the kernel in hexadecimal, innermost first; the program's frames called them. */
  readonly kernel: readonly string[];
  readonly kernelText: KernelText | undefined;
  /** Innermost first. Overwritten by the next sample. */
  readonly frames: readonly CodePlace[];
  /** Why an unwound stack ends; undefined where the kernel recorded the calls, or nobody did. */
  readonly end: EndReason | undefined;
}

export interface PerfStacksOptions {
  readonly zstd: () => DecompressStream;
  readonly options?: UnwindOptions;
  /** Called for each sample in the order of time. */
  readonly onSample: (stack: SampleStack, header: PerfHeader) => void;
}

export interface PerfStacks {
  readonly header: PerfHeader;
  readonly files: readonly NativeFile[];
  /** Samples that were lost while recording. */
  readonly lost: number;
  readonly gaps: readonly string[];
}

/** Unwinds the samples of perf.data, one by one. */
export async function unwindPerfData(
  source: ByteSource,
  objects: ObjectSource,
  { zstd, onSample, options = {} }: PerfStacksOptions,
): Promise<PerfStacks> {
  let walker: SampleStacks | undefined;
  let lost = 0;
  const { header, gaps } = await readPerfData(source, {
    zstd,
    onRecord: (record, recordHeader) => {
      if (record.kind === "lost") {
        lost += record.count;
        return;
      }
      walker ??= new SampleStacks(recordHeader, objects, options);
      switch (record.kind) {
        case "mmap":
          walker.processes.map(record);
          break;
        case "comm":
          walker.processes.rename(record);
          break;
        case "fork":
          walker.processes.fork(record);
          break;
        case "exit":
          break;
        case "sample":
          onSample(walker.walk(record), recordHeader);
          break;
      }
    },
  });
  const other = walker?.foreignSamples ?? 0;
  return {
    header,
    files: [...(walker?.processes.files ?? [])],
    lost,
    gaps: other === 0 ? gaps : [...gaps, `${other} samples of 32-bit programs were not unwound.`],
  };
}

/** perf's numbers of 64-bit and 32-bit registers. */
const ABI_64 = 2;
const ABI_32 = 1;

class SampleStacks {
  readonly processes: PerfProcesses;
  foreignSamples = 0;
  readonly #walker = new SampleWalker();
  readonly #header: PerfHeader;
  readonly #registers: (SampleRegisters | undefined)[] = [];

  constructor(header: PerfHeader, objects: ObjectSource, options: UnwindOptions) {
    this.#header = header;
    this.processes = new PerfProcesses(architectureOf(header), objects, options);
  }

  walk(sample: PerfSample): SampleStack {
    const threadName = this.processes.nameOf(sample.tid);
    const chain = sample.callChain === undefined ? undefined : splitCallChain(sample.callChain);
    const kernel = chain?.kernel ?? [];
    const { kernelText } = this.processes;
    const unwound = this.#unwind(sample);
    if (unwound !== undefined) return { sample, threadName, kernel, kernelText, ...unwound };
    const { places } = this.processes.process(sample.pid);
    const isUser = kernel.length === 0 && sample.ip < 2 ** 53;
    const user = chain !== undefined && chain.user.length > 0 ? chain.user : isUser ? [sample.ip] : [];
    const frames = user.map((ip, index) => places.at(index === 0 && kernel.length === 0 ? ip : ip - 1));
    const own = kernel.length === 0 && !isUser && user.length === 0 ? [sample.ip.toString(16)] : kernel;
    return { sample, threadName, kernel: own, kernelText, frames, end: undefined };
  }

  /** Unwinds the copied stack of a sample; undefined if there is none. */
  #unwind(sample: PerfSample): { frames: readonly CodePlace[]; end: EndReason } | undefined {
    const { registers, stack, registerAbi } = sample;
    if (registerAbi === ABI_32) this.foreignSamples++;
    if (registers === undefined || stack === undefined || registerAbi !== ABI_64) return undefined;
    const { unwinder, places } = this.processes.process(sample.pid);
    const { target } = unwinder;
    this.#registers[sample.event] ??= new SampleRegisters(
      target,
      this.#header.events[sample.event]!.userRegisters,
    );
    const layout = this.#registers[sample.event]!;
    if (!layout.areEnough) return undefined;
    const stackPointer = layout.address(registers, target.stackPointer);
    const quickEnd = this.#walker.walk(
      places,
      layout.address(registers, target.pc),
      stackPointer,
      layout.address(registers, target.framePointer),
      stack,
    );
    if (quickEnd !== undefined) return { frames: this.#walker.places, end: quickEnd };
    const { frames, end } = unwinder.unwind(layout.read(registers), new StackImage(stackPointer, stack));
    return { frames: frames.map(({ lookupAddress }) => places.at(lookupAddress)), end };
  }
}

/** As the file says, or else as the recorded registers give away. */
function architectureOf({ architecture, events }: PerfHeader): ProcessArchitecture {
  if (architecture !== undefined) return architecture;
  const masks = events.map(({ userRegisters }) => userRegisters).filter(([low]) => low !== 0);
  if (masks.some(([, high]) => high === 1)) return "aarch64";
  if (masks.length === 0 || masks.some(([low]) => (low & 0xff0fff) === 0xff0fff)) return "x86_64";
  throw new FormatError("unsupported", 0, "perf.data header", "it does not say for which machine it is");
}
