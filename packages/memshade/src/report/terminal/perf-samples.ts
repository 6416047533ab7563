import type { PerfHeader } from "../../formats/perf-data/index.ts";
import type { CodePlace } from "../../stacks/code-place.ts";
import type { FrameNamer } from "../../stacks/frame-namer.ts";
import { withoutParameters } from "../../stacks/function-name.ts";
import type { KernelFunction, KernelNamer } from "../../stacks/kernel-symbols.ts";
import { preferAsPerf, type SymbolAtAddress, symbolAt } from "../../stacks/name-frames.ts";
import { MappedModule, type NativeFile } from "../../stacks/native-file.ts";
import type { SampleStack } from "../../stacks/perf-stacks.ts";

/** A sample as `perf script -F comm,tid,time,event,ip,sym,symoff,dso --no-inline` prints them. */
export function perfSampleText(
  { sample, threadName, kernel, kernelText, frames }: SampleStack,
  header: PerfHeader,
  namer: FrameNamer,
  kernelNamer?: KernelNamer,
): string {
  const microseconds = Math.floor(sample.time / 1000);
  const seconds = String(Math.floor(microseconds / 1e6)).padStart(5);
  const rest = String(microseconds % 1e6).padStart(6, "0");
  // perf aligns the names where there are several.
  const widest = header.events.reduce((width, { name }) => Math.max(width, name.length), 0);
  const event = header.events[sample.event]!.name.padStart(widest);
  let text = `${threadName} ${String(sample.tid).padStart(5)} ${seconds}.${rest}: ${event}: \n`;
  for (const address of kernel) text += kernelLine(address, kernelNamer?.name(address, kernelText));
  for (const place of frames) {
    place.text ??= lineOf(place, sample.pid, namer);
    text += place.text;
  }
  return `${text}\n`;
}

/** The line of an address in the kernel. */
function kernelLine(address: string, named: KernelFunction | undefined): string {
  const name = named === undefined ? "[unknown]" : `${named.name}+0x${named.offset.toString(16)}`;
  return `\t${address.padStart(16)} ${name} ([${named?.module ?? "kernel.kallsyms"}])\n`;
}

/** The line of a place. */
function lineOf(place: CodePlace, pid: number, namer: FrameNamer): string {
  const { address, module } = place;
  const shown = place.shownAddress.toString(16).padStart(16);
  if (!(module instanceof MappedModule)) return `\t${shown} [unknown] ([unknown])\n`;
  const own = address - module.bias;
  const symbol = symbolAt(module.file, own, preferAsPerf);
  return `\t${shown} ${symbolText(symbol, own, namer)} (${objectText(module.file, pid)})\n`;
}

function objectText({ path, isAnonymous }: NativeFile, pid: number): string {
  if (path === "") return "[unknown]";
  return isAnonymous ? `/tmp/perf-${pid}.map` : path;
}

function symbolText(symbol: SymbolAtAddress | undefined, address: number, namer: FrameNamer): string {
  if (symbol === undefined) return "[unknown]";
  return `${withoutParameters(namer.demangle(symbol.name))}+0x${(address - symbol.address).toString(16)}`;
}
