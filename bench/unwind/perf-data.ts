import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * Unwinds a recording with perf and with memshade in alternation, whole processes, CPU time.
 * perf record -F 2000 --call-graph dwarf -o perf.data program
 * node bench/unwind/perf-data.ts perf.data [pairs]
 */
const [file, pairs = "5"] = process.argv.slice(2);
if (file === undefined) {
  console.error("usage: node bench/unwind/perf-data.ts perf.data [pairs]");
  process.exit(2);
}
const command = fileURLToPath(new URL("../../packages/memshade/bin/memshade.js", import.meta.url));

/** CPU seconds and peak memory in MiB of a process whose output is discarded. */
function measure(program: readonly string[]): { seconds: number; mebibytes: number } {
  const { stderr, status } = spawnSync("/usr/bin/time", ["-f", "%U %S %M", ...program], {
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (status !== 0) throw new Error(`${program.join(" ")} failed: ${stderr}`);
  const [user, system, kibibytes] = stderr.trim().split("\n").at(-1)!.split(" ").map(Number);
  return { seconds: user! + system!, mebibytes: kibibytes! / 1024 };
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;
const peer: number[] = [];
const own: number[] = [];
let peerMemory = 0;
let ownMemory = 0;
for (let pair = 0; pair < Number(pairs); pair++) {
  const perf = measure(["perf", "script", "-F", "ip", "--no-inline", "-i", file]);
  const memshade = measure([process.execPath, command, "unwind", file, "--addresses"]);
  peer.push(perf.seconds);
  own.push(memshade.seconds);
  peerMemory = Math.max(peerMemory, perf.mebibytes);
  ownMemory = Math.max(ownMemory, memshade.mebibytes);
}
const ratio = median(peer.map((seconds, pair) => seconds / own[pair]!));
console.log("| tool | CPU, s | peak memory |\n| --- | --: | --: |");
console.log(`| perf script -F ip --no-inline | ${median(peer).toFixed(2)} | ${peerMemory.toFixed(0)} MiB |`);
console.log(`| memshade unwind --addresses | ${median(own).toFixed(2)} | ${ownMemory.toFixed(0)} MiB |`);
console.log(`\nperf ÷ memshade, median of the pairs: ${ratio.toFixed(2)}`);
