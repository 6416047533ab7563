import type { PerfHeader } from "../../../../profile/formats/perf-data/index.ts";
import type { KernelPlace, NamedSample, SampledPlace } from "../../../../profile/model/native-stacks.ts";
import { inLine } from "../../../../profile/model/printable.ts";

/** A sample as `perf script -F comm,tid,time,event,ip,sym,symoff,dso --no-inline` prints them. */
export function perfSampleText(sample: NamedSample, header: PerfHeader): string {
  const microseconds = Math.floor(sample.time / 1000);
  const seconds = String(Math.floor(microseconds / 1e6)).padStart(5);
  const rest = String(microseconds % 1e6).padStart(6, "0");
  // perf aligns the names where there are several.
  const widest = header.events.reduce((width, { name }) => Math.max(width, name.length), 0);
  const event = header.events[sample.event]!.name.padStart(widest);
  let text = `${inLine(sample.threadName)} ${String(sample.tid).padStart(5)} ${seconds}.${rest}: ${event}: \n`;
  for (const place of sample.kernel) {
    place.text ??= kernelLine(place);
    text += place.text;
  }
  for (const place of sample.frames) {
    place.text ??= lineOf(place);
    text += place.text;
  }
  return `${text}\n`;
}

/** The line of an address in the kernel. */
function kernelLine({ address, symbol, module }: KernelPlace): string {
  const name = symbol === undefined ? "[unknown]" : `${inLine(symbol.name)}+0x${symbol.offset.toString(16)}`;
  return `\t${address.padStart(16)} ${name} ([${inLine(module ?? "kernel.kallsyms")}])\n`;
}

/** The line of a place. */
function lineOf({ shownAddress, object, shownSymbol: symbol }: SampledPlace): string {
  const name = symbol === undefined ? "[unknown]" : `${inLine(symbol.name)}+0x${symbol.offset.toString(16)}`;
  return `\t${shownAddress.toString(16).padStart(16)} ${name} (${inLine(object || "[unknown]")})\n`;
}
