import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { sourceOfBytes } from "./src/bytes/byte-source.ts";
import { readElfCore } from "./src/formats/elf-core/index.ts";
import { ObjectFinder } from "./src/report/load-objects.ts";
import { unwindImage } from "./src/report/stacks/image-stacks.ts";
const R = "/work/shared/fixtures/unwind/";
for (const [d, c, e] of [["recursion","core.gz","expected.json"],["frames-mix","core.gz","expected.json"],["signal-callback","core.gz","expected.json"],["threads","core.gz","expected.json"],["aarch64-frames","core.gz","expected.json"],...["plt-entry","plt-pushed","plt0-pushed","dl-fixup"].map(n=>["plt-dynamic",`core.${n}.gz`,`expected.${n}.json`])]) {
  const image = readElfCore(sourceOfBytes(gunzipSync(readFileSync(R+d+"/"+c))));
  const s = unwindImage(image, new ObjectFinder({binaryPaths:[R+d]}), {registers:true});
  const exp = JSON.parse(readFileSync(R+d+"/"+e,"utf8"));
  let bad=0, frames=0;
  for (const t of exp.threads) {
    const mine = s.threads.find(x=>x.thread.lwp===t.lwp)!;
    if (mine.frames.length!==t.frames.length) { console.log(d, t.lwp, mine.frames.length, t.frames.length, mine.end); bad++; }
    t.frames.forEach((f: any, i: number) => { frames++; const m = mine.frames[i]; if (!m) return;
      const regs = Object.fromEntries(Object.entries(m.registers!.toObject()).map(([k,v])=>[k,"0x"+v.toString(16)]));
      const diffs = Object.entries(f.regs).filter(([k,v])=>regs[k]!==v);
      if ("0x"+m.pc.toString(16)!==f.pc || (f.cfa && "0x"+m.cfa?.toString(16)!==f.cfa) || m.kind!==f.kind || diffs.length) { if (bad++<5) console.log(d, t.lwp, i, m.pc.toString(16), f.pc, m.cfa?.toString(16), f.cfa, diffs, m.foundBy, m.kind); } });
  }
  console.log(d, c, frames, "frames, bad:", bad, s.threads.map(t=>t.end)+"", s.files.map(f=>f.missing).filter(Boolean));
}
