import type { PerfHeader } from "../../../profile/formats/perf-data/index.ts";
import type { NamedSample, SampledPlace, SymbolOffset } from "../../../profile/model/native-stacks.ts";

/** Sample of a recording. */
interface PerfSampleJson {
  /** Name of the thread. */
  comm: NamedSample["threadName"];
  /** Numbers of the process and of the thread. */
  pid: NamedSample["pid"];
  tid: NamedSample["tid"];
  /** Time, in seconds. */
  time: number;
  /** Name of the event. */
  event: string;
  /** Period of the sample: number of events that it represents. */
  period: NamedSample["period"];
  /** Addresses in the kernel, hexadecimal, and their symbols. */
  kernel?: readonly string[] | undefined;
  kernelSymbols?: readonly (string | null)[] | undefined;
  /** Frames, innermost first. */
  frames: readonly PerfFrameJson[];
  /** Reason why the stack ends: `memory` if its copy was too short. */
  end: NamedSample["end"];
}

interface PerfFrameJson {
  /** Address, hexadecimal; in callers inside the call. */
  address: string;
  /** Address in the file, hexadecimal. */
  fileAddress?: string | undefined;
  /** Path of the module. */
  module: SampledPlace["module"];
  /** Function, by debug information. */
  function?: string | undefined;
  /** Linker's symbol, and the distance from it. */
  symbol?: string | undefined;
  /** Source position. */
  file?: string | undefined;
  line?: number | undefined;
  /** Inlined functions, innermost first. */
  inlined?:
    | readonly { function?: string | undefined; file?: string | undefined; line?: number | undefined }[]
    | undefined;
}

/** Formats a sample as one line of JSON (docs/report-json.md). */
export function sampleJson(sample: NamedSample, header: PerfHeader): string {
  const { kernel } = sample;
  const line: PerfSampleJson = {
    comm: sample.threadName,
    pid: sample.pid,
    tid: sample.tid,
    time: sample.time / 1e9,
    event: header.events[sample.event]!.name,
    period: sample.period,
    kernel: kernel.length > 0 ? kernel.map(({ address }) => `0x${address}`) : undefined,
    kernelSymbols: kernel.some(({ symbol }) => symbol !== undefined)
      ? kernel.map(({ symbol }) => symbolText(symbol) ?? null)
      : undefined,
    frames: sample.frames.map(frameJson),
    end: sample.end,
  };
  return JSON.stringify(line);
}

function frameJson({ address, fileOffset, module, functions, symbol }: SampledPlace): PerfFrameJson {
  const own = functions.at(-1);
  const inlined = functions.slice(0, -1);
  return {
    address: `0x${address.toString(16)}`,
    fileAddress: fileOffset === undefined ? undefined : `0x${fileOffset.toString(16)}`,
    module,
    function: own?.function,
    symbol: symbolText(symbol),
    file: own?.file,
    line: own?.line,
    inlined:
      inlined.length > 0
        ? inlined.map((caller) => ({ function: caller.function, file: caller.file, line: caller.line }))
        : undefined,
  };
}

function symbolText(symbol: SymbolOffset | undefined): string | undefined {
  return symbol && `${symbol.name}+0x${symbol.offset.toString(16)}`;
}
