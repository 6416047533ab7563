import type { ValType } from "../../../../../code/wasm/index.ts";
import { bytesOfBase64 } from "../../../../../ground/bytes/base64.ts";
import { mergeRuntime, type RuntimeFunctions } from "../../../../rewrite/link.ts";
import type { ToolSurroundings } from "../../../tool.ts";
import { describeLayout } from "../../described-layout.ts";
import { accessesAt, clockAt, type WorkingSetLayout } from "../../memory-plan.ts";
import { State } from "../layout.ts";
import { LOCALITY_RUNTIME_BASE64 } from "../locality.generated.ts";
import { localityConstants, PREFIX, planLocality } from "../memory-plan.ts";
import type { SampleTargets } from "./sample-writer.ts";

/** Accesses take at least so many bytes of code: a bound for the number of sites. */
const LEAST_ACCESS_BYTES = 4;
const MOST_SITES = 1 << 21;
const PAGE_BYTES = 65536;

export interface WovenLocality {
  /** Size of the tool's memory with the tables. */
  endBytes: number;
  globals: readonly { type: ValType; initial: Uint8Array }[];
  /** Functions that take part in bulk instructions, by the names of the working set's. */
  listeners: RuntimeFunctions;
  /** Exact: function (address, size, site) behind each access. */
  access: number | undefined;
  /** Sampling: what touches do besides. */
  sampling: SampleTargets | undefined;
  /** Function without parameters to call before each poll, −1 for none. */
  beforePoll: number;
  /** For the host that reads the tables: the layout's fields, prefixed. */
  description: Readonly<Record<string, number | boolean>>;
}

/** Adds reuse distances to the working-set tool, where they are asked for. */
export function weaveLocality(
  around: ToolSurroundings,
  workingSet: WorkingSetLayout,
  clock: number,
): WovenLocality | undefined {
  const options = around.options.workingset?.locality;
  if (options === undefined) return undefined;
  const codeBytes = around.module.bodies.reduce((sum, { start, end }) => sum + end - start, 0);
  const sites = Math.min(MOST_SITES, Math.ceil(codeBytes / LEAST_ACCESS_BYTES));
  const layout = planLocality(options, workingSet.locality, workingSet.lines, sites, clockAt(workingSet));
  const { functions, globals: own } = mergeRuntime(bytesOfBase64(LOCALITY_RUNTIME_BASE64), {
    appended: around.appended,
    shadowMemory: around.shadowMemory,
    firstGlobal: around.firstGlobal,
    constants: localityConstants(layout, workingSet.control, accessesAt(workingSet)),
    hosts: { clock },
  });
  const target = (name: string): number => functions.get(name) as number;
  return {
    endBytes: Math.ceil(layout.endBytes / PAGE_BYTES) * PAGE_BYTES,
    globals: own,
    listeners: functions,
    access: layout.exact ? target("access") : undefined,
    sampling: layout.exact
      ? undefined
      : {
          memory: around.shadowMemory,
          memory64: around.memory64,
          multiplier: layout.multiplier | 0,
          limit: layout.limit | 0,
          buffer: layout.buffer,
          bufferedAt: layout.state + State.buffered,
        },
    beforePoll: layout.exact ? -1 : target("drain"),
    description: describeLayout(PREFIX, layout),
  };
}
