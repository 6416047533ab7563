import type { PerfHeader } from "../../formats/perf-data/index.ts";
import { preferAsPerf, type SymbolAtAddress, symbolAt } from "../stacks/name-frames.ts";
import type { NativeFile } from "../stacks/native-file.ts";
import type { SampleAddress, SampleStack } from "../stacks/perf-stacks.ts";

/** One sample after the other as `perf script -F comm,tid,time,event,ip,sym,symoff,dso --no-inline` prints them. */
export class PerfSamplesText {
  readonly #lines = new Map<NativeFile, Map<number, string>>();

  text({ sample, threadName, kernel, frames }: SampleStack, header: PerfHeader): string {
    const microseconds = Math.floor(sample.time / 1000);
    const seconds = String(Math.floor(microseconds / 1e6)).padStart(5);
    const rest = String(microseconds % 1e6).padStart(6, "0");
    const event = header.events[sample.event]!.name;
    let text = `${threadName} ${String(sample.tid).padStart(5)} ${seconds}.${rest}: ${event}: \n`;
    for (const address of kernel) text += `\t${address.padStart(16)} [unknown] ([kernel.kallsyms])\n`;
    for (const frame of frames) text += this.#line(frame);
    return `${text}\n`;
  }

  #line(frame: SampleAddress): string {
    const { address, module } = frame;
    if (module === undefined) return `\t${address.toString(16).padStart(16)} [unknown] ([unknown])\n`;
    let lines = this.#lines.get(module.file);
    if (lines === undefined) {
      lines = new Map();
      this.#lines.set(module.file, lines);
    }
    // What perf calls the address in the file is the offset in it.
    const offset = address - module.start + module.fileOffset;
    let line = lines.get(offset);
    if (line === undefined) {
      const own = address - module.bias;
      const symbol = symbolAt(module.file, own, preferAsPerf);
      line = `\t${offset.toString(16).padStart(16)} ${symbolText(symbol, own)} (${module.name || "[unknown]"})\n`;
      lines.set(offset, line);
    }
    return line;
  }
}

function symbolText(symbol: SymbolAtAddress | undefined, address: number): string {
  return symbol === undefined ? "[unknown]" : `${symbol.name}+0x${(address - symbol.address).toString(16)}`;
}
