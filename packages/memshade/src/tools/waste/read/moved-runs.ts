import { createHash } from "node:crypto";
import type { WasmModule } from "../../../wasm/index.ts";
import { functionShape, instructionOffsets, type SiteRuns } from "../../index.ts";

/** What ran of one function: instructions by their number in it. */
export interface FunctionRuns {
  /** See `functionShape`. */
  shape: number;
  instructions: number[];
  runs: number[];
  events: number[];
}

/** All defined functions of a module that ran, for when it is built anew and its functions are elsewhere. */
export type BuildRuns = readonly FunctionRuns[];

/** Runs of a build say enough of another one if the functions found again had this share of them. */
const LEAST_SHARE = 0.5;

const FORMAT = "memshade function runs 1";

/** What builds of one program have in common, and few programs: names and kinds of what they import and export. */
export function programOf({ imports, exports }: WasmModule): string {
  const hash = createHash("sha256");
  for (const { module, field, kind } of imports) hash.update(`${kind} ${module}\0${field}\n`);
  for (const { name, kind } of exports) hash.update(`${kind} ${name}\n`);
  return hash.digest("hex").slice(0, 16);
}

/** The runs of a module by function. */
export function buildRuns(module: WasmModule, { offsets, runs, events }: SiteRuns): BuildRuns {
  let next = 0;
  return module.bodies.map(({ end }, defined) => {
    const found: FunctionRuns = {
      shape: functionShape(module, defined),
      instructions: [],
      runs: [],
      events: [],
    };
    if (!(offsets[next] < end - module.codePayloadStart)) return found;
    instructionOffsets(module, defined).forEach((offset, instruction) => {
      while (offsets[next] < offset) next++;
      if (offsets[next] !== offset) return;
      found.instructions.push(instruction);
      found.runs.push(runs[next]);
      found.events.push(events[next]);
    });
    return found;
  });
}

/**
 * Runs of a module, from those of the earlier build that has most of its running functions; undefined if none has many.
 * Functions are the same if their code is; of several with the same code the first is the first.
 */
export function movedRuns(module: WasmModule, builds: Iterable<BuildRuns>): SiteRuns | undefined {
  const shapes = module.bodies.map((_, defined) => functionShape(module, defined));
  let best: { share: number; matches: (FunctionRuns | undefined)[] } | undefined;
  for (const build of builds) {
    const matches = matched(shapes, build);
    const all = totalRuns(build);
    const share = all === 0 ? 0 : totalRuns(matches) / all;
    if (share >= LEAST_SHARE && share > (best?.share ?? 0)) best = { share, matches };
  }
  if (best === undefined) return undefined;
  const found = {
    offsets: [] as number[],
    runs: [] as number[],
    events: [] as number[],
    newFunctions: [] as number[],
  };
  best.matches.forEach((match, defined) => {
    if (match === undefined) found.newFunctions.push(defined);
    else if (match.instructions.length > 0) addAt(found, instructionOffsets(module, defined), match);
  });
  return found;
}

function addAt(
  to: { offsets: number[]; runs: number[]; events: number[] },
  offsets: readonly number[],
  { instructions, runs, events }: FunctionRuns,
): void {
  instructions.forEach((instruction, i) => {
    // Two different functions can have the same shape.
    if (instruction >= offsets.length) return;
    to.offsets.push(offsets[instruction]);
    to.runs.push(runs[i]);
    to.events.push(events[i]);
  });
}

/** The function of an earlier build for each shape. */
function matched(shapes: readonly number[], build: BuildRuns): (FunctionRuns | undefined)[] {
  const waiting = new Map<number, FunctionRuns[]>();
  for (const one of build) {
    const others = waiting.get(one.shape);
    if (others === undefined) waiting.set(one.shape, [one]);
    else others.push(one);
  }
  for (const others of waiting.values()) others.reverse();
  return shapes.map((shape) => waiting.get(shape)?.pop());
}

/** Runs of all sites. */
export function totalRuns(functions: Iterable<FunctionRuns | undefined>): number {
  let sum = 0;
  for (const one of functions) if (one !== undefined) for (const runs of one.runs) sum += runs;
  return sum;
}

/** As a file: a line that names the format, then one per function: its shape, and where, how often and with how many events it ran. */
export function buildRunsText(build: BuildRuns): string {
  const lines = build.map(({ shape, instructions, runs, events }) => {
    const sites = instructions.map((at, i) => ` ${at - (instructions[i - 1] ?? 0)} ${runs[i]} ${events[i]}`);
    return `${shape.toString(36)}${sites.join("")}`;
  });
  return `${[FORMAT, ...lines].join("\n")}\n`;
}

/** What such a file says; undefined if it is none, or damaged. */
export function readBuildRuns(text: string): BuildRuns | undefined {
  const [format, ...lines] = text.split("\n");
  if (format !== FORMAT || lines.pop() !== "") return undefined;
  const build: FunctionRuns[] = [];
  for (const line of lines) {
    if (!/^[0-9a-z]{1,7}(?: \d{1,15} \d{1,15} \d{1,15})*$/.test(line)) return undefined;
    const [shape, ...numbers] = line.split(" ");
    const found: FunctionRuns = { shape: Number.parseInt(shape, 36), instructions: [], runs: [], events: [] };
    let instruction = 0;
    for (let i = 0; i < numbers.length; i += 3) {
      instruction += Number(numbers[i]);
      found.instructions.push(instruction);
      found.runs.push(Number(numbers[i + 1]));
      found.events.push(Number(numbers[i + 2]));
    }
    build.push(found);
  }
  return build;
}
