import { entryOf } from "../../../../ground/bytes/entries.ts";
import { STACK_BEYOND } from "../../host-interface.ts";
import type { StackTakesTable } from "../../options.ts";
import { STACK_TAKE_BYTES, STACK_TAKES_HEAD_BYTES, StackTake, StackTakes } from "../layout.ts";

/** Takes of an instance's stack by one function and one stack of the host. `caller` is 0 if unknown. */
interface InstanceTakes {
  mover: number;
  caller: number;
  calls: number;
  bytes: number;
}

/** Bytes of an instance's stack that the host has taken and not given back. Groups with most calls come first. */
export interface TakenStack {
  takes: readonly InstanceTakes[];
  stackBytes: number;
}

export function readStackTakes(view: DataView, { at, start, end }: StackTakesTable): TakenStack {
  const word = (address: number): number => view.getUint32(address, true);
  const groups = new Map<string, InstanceTakes>();
  const count = word(at + StackTakes.count);
  for (let index = 0; index < count; index++) {
    const entry = at + STACK_TAKES_HEAD_BYTES + index * STACK_TAKE_BYTES;
    const answer = word(entry + StackTake.caller);
    const caller = answer < STACK_BEYOND ? answer : 0;
    const mover = word(entry + StackTake.mover);
    const key = `${mover} ${caller}`;
    const group = entryOf(groups, key, () => ({ mover, caller, calls: 0, bytes: 0 }));
    group.calls++;
    group.bytes += word(entry + StackTake.from) - word(entry + StackTake.to);
  }
  const takes = [...groups.values()].sort((a, b) => b.calls - a.calls);
  addTo(takes[0], word(at + StackTakes.furtherCalls), word(at + StackTakes.furtherBytes));
  return { takes: withoutUnknown(takes), stackBytes: end - start };
}

/** Attributes takes without a caller to the caller with the most takes by the same function. */
function withoutUnknown(takes: readonly InstanceTakes[]): InstanceTakes[] {
  return takes.filter(({ mover, caller, calls, bytes }) => {
    const known = takes.find((other) => other.mover === mover && other.caller !== 0);
    if (caller !== 0 || known === undefined) return true;
    addTo(known, calls, bytes);
    return false;
  });
}

function addTo(group: InstanceTakes | undefined, calls: number, bytes: number): void {
  if (group === undefined) return;
  group.calls += calls;
  group.bytes += bytes;
}
