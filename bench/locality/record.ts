import {
  type MissRatioCurve,
  shardsCurve,
  ValueHistogram,
} from "../../packages/memshade/src/explain/analyses/locality.ts";
import type { LocalityOptions } from "../../packages/memshade/src/record/tools/index.ts";
import { localityLayoutOf } from "../../packages/memshade/src/record/tools/working-set/locality/memory-plan.ts";
import {
  type LocalityTables,
  readLocality,
} from "../../packages/memshade/src/record/tools/working-set/locality/read.ts";
import { WorkingSetReader } from "../../packages/memshade/src/record/tools/working-set/read/working-set-session.ts";
import type { Scale, Workload } from "../harness/programs.ts";
import { type WorkingSetInstance, WorkingSetRecording } from "../harness/working-set-recording.ts";

/** Locality of a program's busiest instance. */
export interface RecordedLocality {
  tables: LocalityTables;
  curve: MissRatioCurve;
  cpuMs: number;
}

/** Runs a program once and reads the results of `--locality` with these options. */
export async function recordLocality(
  workload: Workload,
  scale: Scale,
  options: LocalityOptions,
): Promise<RecordedLocality> {
  const { instances, cpuMs } = await new WorkingSetRecording(workload, { locality: options }).run(scale);
  const [tables] = instances.map(tablesOf).sort((a, b) => b.references - a.references);
  if (tables === undefined) throw new Error(`${workload.name} has instantiated nothing`);
  return { tables, curve: curveOf(tables), cpuMs };
}

function tablesOf({ memory, layout }: WorkingSetInstance): LocalityTables {
  const locality = localityLayoutOf(layout);
  if (locality === undefined) throw new Error("no locality");
  return readLocality(memory, locality, new WorkingSetReader(memory, layout).read().duration);
}

function curveOf({ distances, references, sampled, rate, cold }: LocalityTables): MissRatioCurve {
  const histogram = new ValueHistogram();
  for (const [value, weight] of distances) histogram.add(value, weight);
  return shardsCurve({ references, sampled, rate, distances: histogram, cold });
}
