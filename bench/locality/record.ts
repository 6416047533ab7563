import {
  MissRatioCurve,
  shardsCurve,
  ValueHistogram,
} from "../../packages/memshade/src/analyses/locality/index.ts";
import {
  instrument,
  type LocalityOptions,
  localityLayoutOf,
  readInstrumentedInfo,
  type WorkingSetLayout,
} from "../../packages/memshade/src/instrument/index.ts";
import { nativeSha256 } from "../../packages/memshade/src/runtime/host/native-sha256.ts";
import {
  type LocalityTables,
  readLocality,
} from "../../packages/memshade/src/runtime/host/working-set/read-locality.ts";
import { WorkingSetReader } from "../../packages/memshade/src/runtime/host/working-set/read-tables.ts";
import { glueOptions } from "../harness/compare.ts";
import type { Scale, Workload } from "../harness/programs.ts";
import { ModuleSubstitution } from "../harness/substitution.ts";

/** The locality of a program's busiest instance. */
export interface RecordedLocality {
  tables: LocalityTables;
  curve: MissRatioCurve;
  cpuMs: number;
}

/** Rewrites modules with `--locality` and keeps what their instances record. */
class LocalitySubstitution extends ModuleSubstitution {
  readonly instances: { memory: WebAssembly.Memory; layout: WorkingSetLayout }[] = [];
  readonly #locality: LocalityOptions;
  readonly #optionsOf: ReturnType<typeof glueOptions>;

  constructor(workload: Workload, locality: LocalityOptions) {
    const optionsOf = glueOptions(workload);
    super(optionsOf);
    this.variant = "locality";
    this.#locality = locality;
    this.#optionsOf = optionsOf;
  }

  override rewritten(bytes: Uint8Array): Uint8Array {
    const workingset = { locality: this.#locality };
    const tools = ["workingset"] as const;
    const options = { tools: [...tools], workingset, sharedShadow: true, sha256: nativeSha256 };
    return instrument(bytes, { ...options, ...this.#optionsOf(bytes) }).bytes;
  }

  protected override instantiated(module: WebAssembly.Module, exports: WebAssembly.Exports): void {
    const layout = readInstrumentedInfo(module)?.toolLayouts?.workingset as WorkingSetLayout | undefined;
    const memory = exports["memshade.workingset"];
    if (layout !== undefined && memory !== undefined)
      this.instances.push({ memory: memory as WebAssembly.Memory, layout });
  }
}

/** Runs a program once and reads what `--locality` with these options says of it. */
export async function recordLocality(
  workload: Workload,
  scale: Scale,
  options: LocalityOptions,
): Promise<RecordedLocality> {
  const substitution = new LocalitySubstitution(workload, options);
  substitution.install();
  let cpuMs: number;
  try {
    const session = await workload.load();
    const before = process.cpuUsage();
    await session.run(scale);
    const used = process.cpuUsage(before);
    cpuMs = (used.user + used.system) / 1000;
  } finally {
    substitution.uninstall();
  }
  const [tables] = substitution.instances.map(tablesOf).sort((a, b) => b.references - a.references);
  if (tables === undefined) throw new Error(`${workload.name} has instantiated nothing`);
  return { tables, curve: curveOf(tables, options.method === "exact"), cpuMs };
}

function tablesOf({ memory, layout }: LocalitySubstitution["instances"][number]): LocalityTables {
  const locality = localityLayoutOf(layout);
  if (locality === undefined) throw new Error("no locality");
  return readLocality(memory, locality, new WorkingSetReader(memory, layout).read().duration);
}

function curveOf({ distances, references, sampled, rate, cold }: LocalityTables, exact: boolean) {
  const histogram = new ValueHistogram();
  for (const [value, weight] of distances) histogram.add(value, weight);
  return exact
    ? new MissRatioCurve(histogram, cold, references)
    : shardsCurve({ references, sampled, rate, distances: histogram, cold });
}
