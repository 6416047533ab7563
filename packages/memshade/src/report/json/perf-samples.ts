import type { PerfHeader } from "../../formats/perf-data/index.ts";
import type { CodePlace } from "../../stacks/code-place.ts";
import type { FrameNamer } from "../../stacks/frame-namer.ts";
import { withoutParameters } from "../../stacks/function-name.ts";
import type { KernelNamer } from "../../stacks/kernel-symbols.ts";
import { MappedModule } from "../../stacks/native-file.ts";
import type { SampleStack } from "../../stacks/perf-stacks.ts";

/** A sample as one line of JSON (docs/unwinding.md). */
export function sampleJson(
  { sample, threadName, kernel, kernelText, frames, end }: SampleStack,
  header: PerfHeader,
  namer: FrameNamer,
  kernelNamer?: KernelNamer,
): string {
  const kernelNames = kernel.map((address) => kernelNamer?.name(address, kernelText));
  return JSON.stringify({
    comm: threadName,
    pid: sample.pid,
    tid: sample.tid,
    time: sample.time / 1e9,
    event: header.events[sample.event]!.name,
    period: sample.period,
    kernel: kernel.length > 0 ? kernel.map((address) => `0x${address}`) : undefined,
    kernelSymbols: kernelNames.some((named) => named !== undefined)
      ? kernelNames.map((named) => (named ? `${named.name}+0x${named.offset.toString(16)}` : null))
      : undefined,
    frames: frames.map((frame) => frameJson(frame, namer)),
    end,
  });
}

function frameJson(place: CodePlace, namer: FrameNamer): object {
  const { address } = place;
  const module = place.module instanceof MappedModule ? place.module : undefined;
  const named = module && namer.name(module.file, address - module.bias);
  const own = named?.frames.at(-1);
  const inlined = named?.frames.slice(0, -1);
  return {
    address: `0x${address.toString(16)}`,
    fileAddress: module && `0x${(address - module.start + module.fileOffset).toString(16)}`,
    module: module?.name,
    function: own?.function && withoutParameters(own.function),
    symbol: named?.symbol && `${named.symbol.name}+0x${named.symbol.offset.toString(16)}`,
    file: own?.file,
    line: own?.line,
    inlined:
      inlined && inlined.length > 0
        ? inlined.map((one) => ({ function: one.function, file: one.file, line: one.line }))
        : undefined,
  };
}
