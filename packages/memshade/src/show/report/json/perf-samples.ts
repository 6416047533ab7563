import type { PerfHeader } from "../../../profile/formats/perf-data/index.ts";
import type { NamedSample, SampledPlace, SymbolOffset } from "../../../profile/model/native-stacks.ts";

/** Formats a sample as one line of JSON (docs/unwinding.md). */
export function sampleJson(sample: NamedSample, header: PerfHeader): string {
  const { kernel } = sample;
  return JSON.stringify({
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
  });
}

function frameJson({ address, fileOffset, module, functions, symbol }: SampledPlace): object {
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
