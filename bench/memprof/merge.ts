import "../../packages/memshade/scripts/check-generated.ts";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { codePlaces, generateProfiles } from "./generate.ts";

// Merges many generated raw profiles with memshade and with llvm-profdata, in alternation:
// node bench/memprof/merge.ts --binary app.exe --sample app.memprofraw [--profiles 500] [--contexts 10000] [--unique 0.01] (share of the
// contexts that only one profile has) [--threads N] [--built] (the built command)

const { values } = parseArgs({
  options: {
    binary: { type: "string" },
    sample: { type: "string" },
    profiles: { type: "string", default: "500" },
    contexts: { type: "string", default: "10000" },
    unique: { type: "string", default: "0.01" },
    peer: { type: "string", default: "llvm-profdata-22" },
    "peer-profiles": { type: "string", default: "20" },
    rounds: { type: "string", default: "1" },
    threads: { type: "string" },
    built: { type: "boolean", default: false },
  },
});
const binary = resolve(values.binary!);
const sample = resolve(values.sample!);
const memshade = resolve(
  import.meta.dirname,
  `../../packages/memshade/${values.built ? "bin/memshade.js" : "src/cli/main.ts"}`,
);
const threads = values.threads === undefined ? [] : ["--threads", values.threads];
const folder = mkdtempSync(join(tmpdir(), "memshade-merge-"));

interface Measured {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMebibytes: number;
}

/** Runs a command under `time`, which measures its peak memory. */
function measure(command: string, args: readonly string[]): Measured {
  const { stderr, status } = spawnSync("/usr/bin/time", ["-f", "TIME %e %U %S %M", command, ...args], {
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  const found = /TIME ([\d.]+) ([\d.]+) ([\d.]+) (\d+)/.exec(stderr);
  if (status !== 0 || found === null) throw new Error(`${command} failed: ${stderr}`);
  const [, elapsed, user, system, peak] = found.map(Number) as [number, number, number, number, number];
  return { seconds: elapsed, cpuSeconds: user + system, peakMebibytes: peak / 1024 };
}

try {
  const profiles = Number(values.profiles);
  const files = generateProfiles(folder, binary, sample, codePlaces(sample), {
    profiles,
    contexts: Number(values.contexts),
    unique: Number(values.unique),
  });
  const inputs = join(folder, "inputs.txt");
  writeFileSync(inputs, files.join("\n"));
  const total = files.reduce((sum, file) => sum + statSync(file).size, 0);
  console.log(`${profiles} profiles of ${(total / profiles / 1e6).toFixed(2)} MB`);
  const alone = measure(process.execPath, ["-e", "0"]);
  console.log(`Node alone: ${alone.peakMebibytes.toFixed(0)} MiB`);
  const peerCount = Number(values["peer-profiles"]);
  for (let round = 0; round < Number(values.rounds); round++) {
    const out = join(folder, "out");
    const merge = [memshade, "merge", ...threads, "--binary", binary, `@${inputs}`, "-o"];
    const ours = measure(process.execPath, [...merge, out]);
    const bytes = statSync(out).size;
    const times = (ours.peakMebibytes * 2 ** 20) / bytes;
    console.log(
      "memshade indexed",
      ours,
      `result ${(bytes / 1e6).toFixed(2)} MB, peak ${times.toFixed(2)} times that`,
    );
    const whole = `${out}.memshade`;
    const kept = measure(process.execPath, [...merge, whole]);
    const packed = files.slice(0, 3).reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0) / 3;
    console.log(
      "memshade .memshade",
      kept,
      `result ${(statSync(whole).size / 1e6).toFixed(2)} MB, one raw profile gzipped ${(packed / 1e6).toFixed(2)} MB`,
    );
    const peer = measure(values.peer, [
      "merge",
      `--num-threads=${peerCount}`,
      `--profiled-binary=${binary}`,
      "-o",
      out,
      ...files.slice(0, peerCount),
    ]);
    console.log(
      `${values.peer} with ${peerCount} of them`,
      peer,
      `result ${(statSync(out).size / 1e6).toFixed(2)} MB`,
    );
    const perProfile = peer.cpuSeconds / peerCount / (ours.cpuSeconds / profiles);
    console.log(`CPU time per profile: llvm-profdata / memshade = ${perProfile.toFixed(1)}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
