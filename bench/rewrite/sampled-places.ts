import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ObjectFile, openObject } from "../../packages/memshade/src/code/objects/index.ts";
import type { Replacement } from "./rewritten-files.ts";

/** Kinds of code that a sample of the instruction pointer may be in. */
export const PLACES = ["new", "old", "jumps", "stubs", "loader", "other"] as const;
export type SampledPlace = (typeof PLACES)[number];

/** Number of samples by kind; samples in old code by file and address (SVMA). */
export interface SampledPlaces {
  counts: Record<SampledPlace, number>;
  old: Map<string, number>;
  output: string;
}

const MAPPING = /PERF_RECORD_MMAP2 (\d+)\/\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (\S+) .*\]: (\S+) (.*)$/;
const SAMPLE = /^\s*(\d+)\s+([0-9a-f]+)/;
const [JUMP, SHORT_JUMP] = [0xe9, 0xeb];
const JUMP_BYTES = 5;
const PF_X = 1;

interface Mapping {
  start: number;
  end: number;
  offset: number;
  path: string;
}

/** Runs a command under `perf` and returns its samples by kind of code: `launcher` starts the command. */
export function samplePlaces(
  command: readonly string[],
  input: string | undefined,
  launcher: readonly string[],
  replacements: readonly Replacement[],
  folder: string,
): SampledPlaces {
  const data = join(mkdtempSync(join(folder, "perf-")), "perf.data");
  const record = ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "2000", "-o", data, "--", ...command];
  const [first, ...rest] = [...launcher, ...record];
  const options = { encoding: "utf8", maxBuffer: 1 << 29, cwd: folder } as const;
  const { stdout: output, stderr } = spawnSync(first, rest, { ...options, input });
  if (!existsSync(data)) throw new Error(`perf record failed: ${stderr}`);
  const script = ["script", "-i", data, "--show-mmap-events", "-F", "pid,ip"];
  const { stdout } = spawnSync("perf", script, options);
  const objects = new Map(replacements.map((one) => [one.original, new RewrittenCode(one)]));
  const mappings = new Map<string, Mapping[]>();
  const found: SampledPlaces = {
    counts: { new: 0, old: 0, jumps: 0, stubs: 0, loader: 0, other: 0 },
    old: new Map(),
    output,
  };
  for (const line of stdout.split("\n")) {
    const mapping = MAPPING.exec(line);
    if (mapping !== null) {
      const [, process, start, size, offset, , path] = mapping;
      const from = Number.parseInt(start, 16);
      const one = { start: from, end: from + Number.parseInt(size, 16), offset: Number(offset), path };
      mappings.set(process, [one, ...(mappings.get(process) ?? [])]);
      continue;
    }
    const sample = SAMPLE.exec(line);
    if (sample === null) continue;
    const address = Number.parseInt(sample[2], 16);
    const around = mappings.get(sample[1])?.find(({ start, end }) => address >= start && address < end);
    const code = around && objects.get(around.path);
    const offset = around === undefined ? 0 : address - around.start + around.offset;
    const place = code?.placeOf(offset) ?? (around?.path.includes("/ld-linux") ? "loader" : "other");
    found.counts[place]++;
    if (place !== "old" || code === undefined) continue;
    const name = `${around?.path} 0x${code.addressOf(offset).toString(16)}`;
    found.old.set(name, (found.old.get(name) ?? 0) + 1);
  }
  return found;
}

/** A rewritten file and its original, to classify addresses. */
class RewrittenCode {
  readonly #before: Uint8Array;
  readonly #after: Uint8Array;
  readonly #object: ObjectFile;

  constructor({ original, path }: Replacement) {
    this.#before = readFileSync(original);
    this.#after = readFileSync(path);
    this.#object = openObject(this.#before);
  }

  addressOf(offset: number): number {
    const around = this.#object.segments.find(
      ({ flags, fileOffset, fileSize }) =>
        (flags & PF_X) !== 0 && offset >= fileOffset && offset < fileOffset + fileSize,
    );
    return around === undefined ? 0 : offset - around.fileOffset + around.address;
  }

  placeOf(offset: number): SampledPlace {
    if (offset >= this.#before.length) return "new";
    const address = this.addressOf(offset);
    const stub = this.#object.sections.some(
      ({ name, address: start, size }) =>
        name.startsWith(".plt") && address >= start && address < start + size,
    );
    if (stub) return "stubs";
    if (this.#after[offset] !== JUMP && this.#after[offset] !== SHORT_JUMP) return "old";
    for (let at = offset; at < offset + JUMP_BYTES; at++)
      if (this.#after[at] !== this.#before[at]) return "jumps";
    return "old";
  }
}
