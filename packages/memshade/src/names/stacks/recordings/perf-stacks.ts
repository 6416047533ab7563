import type { EndReason, UnwindOptions } from "../../../code/unwind/index.ts";
import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import {
  type Decompressor,
  type PerfHeader,
  type PerfSample,
  readPerfData,
} from "../../../profile/formats/perf-data/index.ts";
import { agreeing, counted } from "../../../profile/model/counted.ts";
import type { ProcessArchitecture } from "../../../profile/model/process-image.ts";
import type { NativeFile, ObjectSource } from "../native-file.ts";
import type { CodePlace } from "./code-place.ts";
import type { KernelText } from "./kallsyms.ts";
import { PerfProcesses, SampleWalks } from "./sample-walks.ts";

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
  readonly zstd: () => Decompressor;
  readonly options?: UnwindOptions;
  /** Called for each sample in the order of time. */
  readonly onSample?: (stack: SampleStack, header: PerfHeader) => void;
  /** Takes the addresses of all samples as text instead, as `perf script -F ip --no-inline` prints them. */
  readonly onText?: ((text: Uint8Array) => void) | undefined;
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
  { zstd, onSample, onText, options = {} }: PerfStacksOptions,
): Promise<PerfStacks> {
  let processes: PerfProcesses | undefined;
  let walks: SampleWalks | undefined;
  let lost = 0;
  const { header, gaps } = await readPerfData(source, {
    zstd,
    takeSamples: (records, recordHeader) => {
      walks = new SampleWalks(records, { unwinding: options, onText }, () => {
        processes = new PerfProcesses(architectureOf(recordHeader), objects, options);
        return { header: recordHeader, processes };
      });
      return walks;
    },
    onRecord: (record, recordHeader) => {
      switch (record.kind) {
        case "lost":
          lost += record.count;
          break;
        case "mmap":
          processes!.mapKernel(record);
          break;
        case "comm":
          processes!.rename(record);
          break;
        case "fork":
          processes!.fork(record);
          break;
        case "sample":
          onSample?.(stackOf(record, walks!, processes!), recordHeader);
          break;
      }
    },
  });
  walks?.wasm.finishText();
  const other = walks?.wasm.foreignSamples.value ?? 0;
  return {
    header,
    files: [...(processes?.files ?? [])],
    lost,
    gaps:
      other === 0
        ? gaps
        : [
            ...gaps,
            `${counted(other, "sample")} of 32-bit programs ${agreeing(other, "was", "were")} not unwound.`,
          ],
  };
}

function stackOf(sample: PerfSample, walks: SampleWalks, processes: PerfProcesses): SampleStack {
  walks.readFrames();
  return {
    sample,
    threadName: processes.nameOf(sample.tid),
    kernel: walks.kernelFrames(),
    kernelText: processes.kernelText,
    frames: walks.frames,
    end: walks.end,
  };
}

/** As the file says, or else as the recorded registers give away. */
function architectureOf({ architecture, events }: PerfHeader): ProcessArchitecture {
  if (architecture !== undefined) return architecture;
  const masks = events.map(({ userRegisters }) => userRegisters).filter(([low]) => low !== 0);
  if (masks.some(([, high]) => high === 1)) return "aarch64";
  if (masks.length === 0 || masks.some(([low]) => (low & 0xff0fff) === 0xff0fff)) return "x86_64";
  throw new FormatError("unsupported", 0, "perf.data header", "it does not say for which machine it is");
}
