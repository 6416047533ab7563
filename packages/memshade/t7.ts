import { readFileSync } from "node:fs";
import { sourceOfBytes } from "./src/bytes/byte-source.ts";
import { ObjectFinder } from "./src/report/load-objects.ts";
import { unwindPerfData } from "./src/report/stacks/perf-stacks.ts";
import { preferAsPerf, symbolAt } from "./src/report/stacks/name-frames.ts";
const R = "/work/shared/fixtures/unwind/perf-dwarf/";
let out = "";
const s = await unwindPerfData(sourceOfBytes(readFileSync(R+"perf.data")), new ObjectFinder({binaryPaths:[R]}), { zstd: null as any, onSample: ({sample, threadName, frames}, h) => {
  const us = Math.floor(sample.time/1000);
  out += `${threadName} ${String(sample.tid).padStart(5)} ${String(Math.floor(us/1e6)).padStart(5)}.${String(us%1e6).padStart(6,"0")}: ${h.events[sample.event]!.name}: \n`;
  for (const {address, module} of frames) {
    const off = module ? address - module.start + module.fileOffset : address;
    const sym = module && symbolAt(module.file, address - module.bias, preferAsPerf);
    out += `\t${off.toString(16).padStart(16)} ${sym ? sym.name + "+0x"+(address-module!.bias-sym.address).toString(16) : "[unknown]"} (${module?.name ?? "[unknown]"})\n`;
  }
  out += "\n";
}});
const want = readFileSync(R+"script.txt","utf8");
console.log(out===want, out.length, want.length, s.gaps, s.lost);
const a = out.split("\n"), b = want.split("\n"); let n=0; a.forEach((l,i)=>{ if (l!==b[i] && n++<5) console.log(JSON.stringify(l), JSON.stringify(b[i])); });
