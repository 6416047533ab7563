import { readWorkingSet } from "../../src/profile/model/working-set/read-working-set.ts";
import type {
  Attribution,
  InstanceWorkingSet,
  WorkingSetProfile,
} from "../../src/profile/model/working-set/working-set.ts";
import { instrument, type WorkingSetOptions } from "../../src/record/tools/index.ts";
import { WorkingSetSession } from "../../src/record/tools/working-set/read/working-set-session.ts";

type Run = (instance: WebAssembly.Instance) => void;

export interface AttributedOptions extends WorkingSetOptions {
  /** The allocation functions, in the form of `--allocator`. */
  allocator?: string;
  imports?: WebAssembly.Imports;
  heap?: boolean;
}

/** The working-set tool's results for a run, as a reader of its file gets them. */
export function attributed(module: Uint8Array, options: AttributedOptions, run: Run): InstanceWorkingSet {
  return profileOf(module, options, run).instances[0];
}

export function profileOf(
  module: Uint8Array,
  { allocator, imports, heap, ...workingset }: AttributedOptions,
  run: Run,
): WorkingSetProfile {
  const attribution = { firstTouch: true, fill: true, owners: true };
  const options = { tools: heap ? (["heap", "workingset"] as const) : (["workingset"] as const) };
  const tool = { attribution, ...workingset };
  const { bytes, info } = instrument(module, {
    ...options,
    ...(allocator === undefined ? {} : { allocator }),
    workingset: tool,
  });
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource), imports);
  run(instance);
  const session = new WorkingSetSession({ ...options, workingset: tool });
  const memory = instance.exports["memshade.workingset"] as WebAssembly.Memory;
  session.addInstance({ number: 0, module: 0 }, memory, info, module);
  const facts = { command: [], modules: [{ index: 0, name: "test", buildId: "" }], linesOf: undefined };
  const { files } = session.snapshot({} as never, facts as never);
  return readWorkingSet(String(files[0].contents));
}

/** Lines by context, `inner < outer`; lines that are no code by kind. */
export function linesByContext(
  { contexts }: Attribution,
  lines: readonly [number, number][],
): Record<string, number> {
  return Object.fromEntries(
    lines.map(([number, count]) => {
      const { kind, stack } = contexts[number];
      return [kind === "code" ? stack.map(({ name }) => name).join(" < ") : kind, count];
    }),
  );
}

export function totals(attribution: Attribution): Record<string, number> {
  return linesByContext(
    attribution,
    attribution.contexts.map(({ total }, number) => [number, total]),
  );
}
