import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { withBranchHints } from "../packages/memshade/src/host/module/branch-hints.ts";
import { nativeSha256 } from "../packages/memshade/src/host/module/native-sha256.ts";
import { instrument, type SiteRuns } from "../packages/memshade/src/tools/index.ts";
import { buildRuns, movedRuns } from "../packages/memshade/src/tools/waste/read/moved-runs.ts";
import { decodeModule } from "../packages/memshade/src/wasm/index.ts";
import { siteRunsOfInstance } from "./harness/earlier-runs.ts";
import { median } from "./harness/statistics.ts";
import { MemoryWasi } from "./harness/wasi.ts";

/**
 * What the waste tool costs a program that was built anew: `node --expose-gc bench/rebuilt.ts OLD.wasm NEW.wasm [ARGUMENTS]`, WASI
 * commands. Times the plain run, in alternation, behind six runs of each: with nothing known of NEW, with what a
 * run of OLD did in the functions they share, and with what NEW did itself.
 */
const WARM = 6;
const MEASURED = 5;

const [oldFile, newFile, ...args] = process.argv.slice(2);
if (newFile === undefined) {
  console.error(
    "rebuilt: name two builds of a WASI command: node bench/rebuilt.ts OLD.wasm NEW.wasm [ARGUMENTS]",
  );
  process.exit(2);
}
const [before, bytes] = [oldFile, newFile].map((file) => new Uint8Array(readFileSync(file)));

const rewritten = (original: Uint8Array, siteRuns?: SiteRuns): WebAssembly.Module =>
  withBranchHints(
    () =>
      new WebAssembly.Module(
        instrument(original, {
          tools: ["waste"],
          sharedShadow: true,
          sha256: nativeSha256,
          waste: { host: "exact", siteRuns },
        }).bytes as BufferSource,
      ),
  );

/** Runs a program; returns milliseconds of processor time and its exports. */
function run(module: WebAssembly.Module): { ms: number; exports: WebAssembly.Exports } {
  const wasi = new MemoryWasi({ args: [basename(newFile), ...args] });
  const instance = new WebAssembly.Instance(module, wasi.imports);
  globalThis.gc?.();
  const start = process.cpuUsage();
  wasi.start(instance);
  const { user, system } = process.cpuUsage(start);
  return { ms: (user + system) / 1000, exports: instance.exports };
}

function siteRuns(original: Uint8Array): SiteRuns | undefined {
  const module = rewritten(original);
  return siteRunsOfInstance(module, run(module).exports, original);
}

const ofOld = siteRuns(before);
const moved =
  ofOld === undefined ? undefined : movedRuns(decodeModule(bytes), [buildRuns(decodeModule(before), ofOld)]);
const variants = {
  plain: new WebAssembly.Module(bytes as BufferSource),
  "nothing known": rewritten(bytes),
  "the old build": rewritten(bytes, moved),
  itself: rewritten(bytes, siteRuns(bytes)),
};
const times = new Map<string, number[]>(Object.keys(variants).map((name) => [name, []]));
for (let round = 0; round < WARM + MEASURED; round++)
  for (const [name, module] of Object.entries(variants)) {
    const { ms } = run(module);
    if (round >= WARM) times.get(name)?.push(ms);
  }
const plain = times.get("plain") as number[];
console.log(
  `functions of the new build that the old one has: ${
    decodeModule(bytes).bodies.length - (moved?.newFunctions?.length ?? 0)
  } of ${decodeModule(bytes).bodies.length}`,
);
for (const [name, all] of times)
  console.log(
    `${name}: ${name === "plain" ? `${median(all).toFixed(0)} ms` : median(all.map((ms, i) => ms / plain[i])).toFixed(2)}`,
  );
