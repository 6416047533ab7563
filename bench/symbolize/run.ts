/**
 * Compares `memshade symbolize` with `llvm-symbolizer-22`: whole processes in alternation, CPU time (user and system) and largest
 * resident memory. Needs `llvm-symbolizer-22`, bash, `/usr/bin/time` (GNU) and a built package.
 * node bench/symbolize/run.ts [FILE.wasm]
 */
import "../../packages/memshade/scripts/check-generated.ts";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openObject } from "../../packages/memshade/src/code/objects/index.ts";

/** Numbers of addresses, and of pairs of runs with each. */
const PARTS = [
  { count: 1, rounds: 25 },
  { count: 100_000, rounds: 3 },
];

/** GNU time measures the memory, but its hundredths of a second are too coarse for one address. */
const TIMED = 'TIMEFORMAT="%3U %3S"; time /usr/bin/time -f %M "$@"';

const root = fileURLToPath(new URL("../..", import.meta.url));
const file = process.argv[2] ?? `${root}node_modules/@ruby/3.4-wasm-wasi/dist/ruby.debug+stdlib.wasm`;
const ours = [process.execPath, `${root}packages/memshade/bin/memshade.js`, "symbolize"];
const peer = ["llvm-symbolizer-22"];

interface Cost {
  seconds: number;
  memoryKb: number;
}

function run(command: readonly string[], input: string): Cost {
  const { stderr, status } = spawnSync(
    "bash",
    ["-c", TIMED, "bash", ...command, "--no-demangle", "--obj", file],
    { input, encoding: "utf8", maxBuffer: 2 ** 29 },
  );
  if (status !== 0) throw new Error(`${command.join(" ")}: ${stderr}`);
  const [memoryKb, user, system] = stderr.trim().split("\n").slice(-2).join(" ").split(" ").map(Number);
  return { seconds: user! + system!, memoryKb: memoryKb! };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

const code = openObject(new Uint8Array(readFileSync(file))).sections.find(({ type }) => type === 10)!;
const addressesOf = (count: number) =>
  Array.from(
    { length: count },
    (_, index) => `0x${Math.floor(((index + 0.5) * code.size) / count).toString(16)}`,
  );

for (const { count, rounds: pairs } of PARTS) {
  const input = `${addressesOf(count).join("\n")}\n`;
  const rounds = Array.from({ length: pairs }, () => ({ ours: run(ours, input), peer: run(peer, input) }));
  const cost = (who: "ours" | "peer") => {
    const seconds = median(rounds.map((round) => round[who].seconds)).toFixed(3);
    return `${seconds} s, ${Math.round(median(rounds.map((round) => round[who].memoryKb)) / 1024)} MiB`;
  };
  const ratio = median(rounds.map((round) => round.ours.seconds / round.peer.seconds)).toFixed(2);
  console.log(
    `${count} addresses: memshade ${cost("ours")}; llvm-symbolizer ${cost("peer")}; CPU ratio ${ratio}`,
  );
}
