import { setTimeout } from "node:timers/promises";
import { glueOptions } from "./compare.ts";
import { findWorkload, type Workload } from "./programs.ts";
import { codeSectionBytes } from "./sections.ts";
import { type Instrumenter, instrumenterOf, ModuleSubstitution, type Variant } from "./substitution.ts";

/** One program, one variant. Times are CPU milliseconds, user and system, of the whole process. */
export interface VariantMeasurement {
  plainMs: number[];
  /** instrumented / plain for each pair, without the warm-up. */
  ratios: number[];
  /** The same with the instrumenter of another checkout. */
  againstRatios: number[];
  /** Code size after rewriting divided by that before, summed over the program's modules. */
  codeGrowth: number;
}

export interface ProgramMeasurement {
  name: string;
  variants: Partial<Record<Variant, VariantMeasurement>>;
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

/** Milliseconds in which engines finish compiling in the background. */
const COMPILING_MS = 50;

/**
 * Runs plain and instrumented programs in alternation, also with the instrumenter of another checkout if one is given, each time
 * with a fresh instance. The first `warmUps` pairs are not measured. Throws if a result differs from the plain one.
 */
export async function measureVariant(
  workload: Workload,
  substitution: ModuleSubstitution,
  variant: Variant,
  runs: { pairs: number; warmUps: number; against?: Instrumenter | undefined },
): Promise<VariantMeasurement> {
  const measurement: VariantMeasurement = { plainMs: [], ratios: [], againstRatios: [], codeGrowth: 1 };
  const ours = substitution.instrumenter;
  for (let pair = 0; pair < runs.warmUps + runs.pairs; pair++) {
    const plain = await runOnce(workload, substitution, "plain");
    const ratioOf = async (instrumenter: Instrumenter): Promise<number> => {
      substitution.instrumenter = instrumenter;
      const run = await runOnce(workload, substitution, variant);
      substitution.instrumenter = ours;
      if (run.result !== plain.result)
        throw new Error(
          `${workload.name} behaves differently with ${variant}:\n  plain: ${plain.result}\n  instrumented: ${run.result}`,
        );
      return run.cpuMs / plain.cpuMs;
    };
    // Both take turns in being first, because the second one profits from the first.
    const first = pair % 2 === 1 && runs.against !== undefined ? await ratioOf(runs.against) : undefined;
    const ratio = await ratioOf(ours);
    const againstRatio = first ?? (runs.against === undefined ? undefined : await ratioOf(runs.against));
    if (pair < runs.warmUps) {
      await setTimeout(COMPILING_MS);
      continue;
    }
    measurement.plainMs.push(plain.cpuMs);
    measurement.ratios.push(ratio);
    if (againstRatio !== undefined) measurement.againstRatios.push(againstRatio);
  }
  const code = (which: Variant) =>
    substitution.seen.reduce(
      (sum, module) => sum + codeSectionBytes(substitution.rewritten(module.bytes, which)),
      0,
    );
  measurement.codeGrowth = code(variant) / code("plain");
  return measurement;
}

/** `node --expose-gc measure.ts NAME PAIRS WARM-UPS CHECKOUT|- VARIANT…` prints a ProgramMeasurement as JSON. */
if (import.meta.main) {
  const [name, pairs, warmUps, checkout, ...variants] = process.argv.slice(2) as [
    string,
    string,
    string,
    string,
    ...Variant[],
  ];
  const workload = findWorkload(name);
  if (workload === undefined) throw new Error(`no program is called ${name}`);
  const against = checkout === "-" ? undefined : await instrumenterOf(checkout);
  const substitution = new ModuleSubstitution(glueOptions(workload));
  substitution.install();
  const measurement: ProgramMeasurement = { name, variants: {} };
  for (const variant of variants)
    measurement.variants[variant] = await measureVariant(workload, substitution, variant, {
      pairs: Number(pairs),
      warmUps: Number(warmUps),
      against,
    });
  console.log(JSON.stringify(measurement));
}
