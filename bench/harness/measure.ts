import { setTimeout } from "node:timers/promises";
import { glueOptions } from "./compare.ts";
import { findWorkload, type Workload } from "./programs.ts";
import { codeSectionBytes } from "./sections.ts";
import { ModuleSubstitution, type Variant } from "./substitution.ts";

/** Columns of the tables: the variants that are compared with the plain module. */
export type Column =
  | "counters"
  | "full"
  | "alloc"
  | "workingset"
  | "workingset aligned"
  | "workingset timed"
  | "locality"
  | "locality exact"
  | "first touch"
  | "fill"
  | "owners"
  | "waste"
  | "waste opaque"
  | "waste pairs"
  | "waste contexts"
  | "waste again"
  | "waste contexts again";

/** One program, one column. Times are CPU milliseconds, user and system, of the whole process. */
export interface ColumnMeasurement {
  plainMs: number[];
  instrumentedMs: number[];
  /** instrumented / plain of each pair, the first pair left out. */
  ratios: number[];
  /** Sizes after rewriting over sizes before, summed over the program's modules. */
  fileGrowth: number;
  codeGrowth: number;
}

export interface ProgramMeasurement {
  name: string;
  columns: Partial<Record<Column, ColumnMeasurement>>;
}

interface Run {
  result: string;
  cpuMs: number;
}

/** Loads the program anew in a variant and runs it once; only the work itself is timed. */
async function runOnce(workload: Workload, substitution: ModuleSubstitution, variant: Variant): Promise<Run> {
  substitution.variant = variant;
  const session = await workload.load();
  globalThis.gc?.();
  const before = process.cpuUsage();
  const result = await session.run("full");
  const used = process.cpuUsage(before);
  return { result, cpuMs: (used.user + used.system) / 1000 };
}

/** Milliseconds in which engines finish what they compile beside a program. */
const COMPILING_MS = 50;

/**
 * Runs plain and instrumented in alternation, `pairs` times with a fresh instance each; the first `warmUps` pairs are not measured.
 * Throws when a result differs from the plain one.
 */
export async function measureColumn(
  workload: Workload,
  substitution: ModuleSubstitution,
  column: Column,
  pairs: number,
  warmUps = 1,
): Promise<ColumnMeasurement> {
  const measurement: ColumnMeasurement = {
    plainMs: [],
    instrumentedMs: [],
    ratios: [],
    fileGrowth: 1,
    codeGrowth: 1,
  };
  for (let pair = 0; pair < pairs; pair++) {
    const plain = await runOnce(workload, substitution, "plain");
    const instrumented = await runOnce(workload, substitution, column);
    if (plain.result !== instrumented.result)
      throw new Error(
        `${workload.name} behaves differently with ${column}:\n  plain: ${plain.result}\n  instrumented: ${instrumented.result}`,
      );
    if (pair < warmUps) {
      await setTimeout(COMPILING_MS);
      continue;
    }
    measurement.plainMs.push(plain.cpuMs);
    measurement.instrumentedMs.push(instrumented.cpuMs);
    measurement.ratios.push(instrumented.cpuMs / plain.cpuMs);
  }
  const total = (sizeOf: (bytes: Uint8Array) => number, variant: Variant) =>
    substitution.seen.reduce((sum, module) => sum + sizeOf(substitution.rewritten(module.bytes, variant)), 0);
  measurement.fileGrowth = total((bytes) => bytes.length, column) / total((bytes) => bytes.length, "plain");
  measurement.codeGrowth = total(codeSectionBytes, column) / total(codeSectionBytes, "plain");
  return measurement;
}

/** `node --expose-gc measure.ts NAME PAIRS WARM-UPS COLUMN…` prints a ProgramMeasurement as JSON. */
if (import.meta.main) {
  const [name, pairs, warmUps, ...columns] = process.argv.slice(2) as [string, string, string, ...Column[]];
  const workload = findWorkload(name);
  if (workload === undefined) throw new Error(`no program is called ${name}`);
  const substitution = new ModuleSubstitution(glueOptions(workload));
  substitution.install();
  const measurement: ProgramMeasurement = { name, columns: {} };
  for (const column of columns)
    measurement.columns[column] = await measureColumn(
      workload,
      substitution,
      column,
      Number(pairs),
      Number(warmUps),
    );
  console.log(JSON.stringify(measurement));
}
