import type { PerfHeader } from "../../formats/perf-data/index.ts";
import type { CodePlace } from "../../unwind/index.ts";
import type { FrameNamer } from "../stacks/frame-namer.ts";
import { withoutParameters } from "../stacks/function-name.ts";
import { preferAsPerf, type SymbolAtAddress, symbolAt } from "../stacks/name-frames.ts";
import { MappedModule } from "../stacks/native-file.ts";
import type { SampleStack } from "../stacks/perf-stacks.ts";

/** Mappings for which perf looks for names that a compiler at run time left in `/tmp/perf-PID.map`. */
const ANONYMOUS = /^(?:\/\/anon|\/dev\/zero|\/anon_hugepage)/;

/** A sample as `perf script -F comm,tid,time,event,ip,sym,symoff,dso --no-inline` prints them. */
export function perfSampleText(
  { sample, threadName, kernel, frames }: SampleStack,
  header: PerfHeader,
  namer: FrameNamer,
): string {
  const microseconds = Math.floor(sample.time / 1000);
  const seconds = String(Math.floor(microseconds / 1e6)).padStart(5);
  const rest = String(microseconds % 1e6).padStart(6, "0");
  // perf aligns the names where there are several.
  const widest = header.events.reduce((width, { name }) => Math.max(width, name.length), 0);
  const event = header.events[sample.event]!.name.padStart(widest);
  let text = `${threadName} ${String(sample.tid).padStart(5)} ${seconds}.${rest}: ${event}: \n`;
  for (const address of kernel) text += `\t${address.padStart(16)} [unknown] ([kernel.kallsyms])\n`;
  for (const place of frames) {
    place.text ??= lineOf(place, sample.pid, namer);
    text += place.text;
  }
  return `${text}\n`;
}

/** The addresses of a sample, as `perf script -F ip --no-inline` prints them; nothing is named. */
export function perfAddressText({ kernel, frames }: SampleStack): string {
  let text = "\n";
  for (const address of kernel) text += `\t${address.padStart(16)}\n`;
  for (const place of frames) {
    place.text ??= `\t${addressText(place)}\n`;
    text += place.text;
  }
  return `${text}\n`;
}

/** What perf calls the address in a file is the offset in it. Code that a program wrote itself is in no file. */
function addressText({ address, module }: CodePlace): string {
  const isInFile = module instanceof MappedModule && !ANONYMOUS.test(module.name);
  const shown = isInFile ? address - module.start + module.fileOffset : address;
  return shown.toString(16).padStart(16);
}

/** The line of a place. */
function lineOf(place: CodePlace, pid: number, namer: FrameNamer): string {
  const { address, module } = place;
  if (!(module instanceof MappedModule)) return `\t${addressText(place)} [unknown] ([unknown])\n`;
  const own = address - module.bias;
  const symbol = symbolAt(module.file, own, preferAsPerf);
  return `\t${addressText(place)} ${symbolText(symbol, own, namer)} (${objectText(module.name, pid)})\n`;
}

function objectText(name: string, pid: number): string {
  if (name === "") return "[unknown]";
  return ANONYMOUS.test(name) ? `/tmp/perf-${pid}.map` : name;
}

function symbolText(symbol: SymbolAtAddress | undefined, address: number, namer: FrameNamer): string {
  if (symbol === undefined) return "[unknown]";
  return `${withoutParameters(namer.demangle(symbol.name))}+0x${(address - symbol.address).toString(16)}`;
}
