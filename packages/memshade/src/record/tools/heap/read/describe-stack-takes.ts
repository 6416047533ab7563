import type { RunStackTakes } from "../../../../profile/model/run.ts";
import { ModuleFunctions } from "../../module-functions.ts";
import { LEFT_BY_EXCEPTION } from "../layout.ts";
import type { DescribeHostFrame, HostCallers } from "./host-callers.ts";
import type { TakenStack } from "./stack-takes.ts";

/** Returns the takes of a module's stacks by caller. For each caller, the instance with its most takes counts. */
export function describeStackTakes(
  instances: readonly { taken: TakenStack; thread: number | undefined }[],
  original: () => Uint8Array,
  callers: HostCallers,
  describeFrame: DescribeHostFrame,
): RunStackTakes[] {
  const found = new Map<string, RunStackTakes & { mover: number }>();
  for (const { taken, thread } of instances)
    for (const { mover, caller, calls, bytes } of taken.takes) {
      // A single take has a purpose: the arguments of a program, for example.
      if (calls < 2) continue;
      const frames =
        thread === undefined || caller === 0 ? [] : callers.framesOfTold(thread, caller).map(describeFrame);
      const key = JSON.stringify([mover, frames]);
      if (calls <= (found.get(key)?.calls ?? 0)) continue;
      found.set(key, { mover, frames, calls, bytes, stackBytes: taken.stackBytes });
    }
  if (found.size === 0) return [];
  const functions = new ModuleFunctions(original());
  return [...found.values()].map(({ mover, ...takes }) => ({
    ...takes,
    ...(mover === LEFT_BY_EXCEPTION ? {} : { function: functions.at([mover])[0]?.name ?? `func[${mover}]` }),
  }));
}
