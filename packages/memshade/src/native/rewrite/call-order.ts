import { type FlowGraph, NONE } from "./flow-graph.ts";

/** Groups of functions, and which of them call which. */
export interface CallOrder {
  /** Functions of each group. */
  readonly members: readonly Int32Array[];
  /** Groups with a function that calls one of the group. */
  readonly callersOf: readonly (readonly number[])[];
  /** Groups in an order in which callees stand before callers, as far as calls go round in no circle. */
  readonly calleesFirst: Int32Array;
}

export function callOrder(graph: FlowGraph): CallOrder {
  const { groupOf, callees, functionOf, count } = graph;
  const callersOf = Array.from(groupOf, (): number[] => []);
  const calleesOf = Array.from(groupOf, (): number[] => []);
  for (let block = 0; block < count; block++) {
    if (callees[block] === NONE) continue;
    const from = groupOf[functionOf[block]];
    const to = groupOf[callees[block]];
    // Blocks stand in the order of their functions, so most of those that are known come right behind each other.
    if (callersOf[to].at(-1) === from) continue;
    callersOf[to].push(from);
    calleesOf[from].push(to);
  }
  const order: number[] = [];
  const visited = new Uint8Array(groupOf.length);
  for (const root of groupOf.keys()) {
    if (groupOf[root] !== root || visited[root]) continue;
    visited[root] = 1;
    const stack: { group: number; next: number }[] = [{ group: root, next: 0 }];
    while (stack.length > 0) {
      const top = stack[stack.length - 1];
      const callee = calleesOf[top.group][top.next++];
      if (callee === undefined) {
        order.push(top.group);
        stack.pop();
      } else if (!visited[callee]) {
        visited[callee] = 1;
        stack.push({ group: callee, next: 0 });
      }
    }
  }
  return { members: groupMembers(graph), callersOf, calleesFirst: Int32Array.from(order) };
}

function groupMembers({ groupOf }: FlowGraph): Int32Array[] {
  const members: number[][] = Array.from(groupOf, () => []);
  for (const [f, group] of groupOf.entries()) members[group].push(f);
  return members.map((group) => Int32Array.from(group));
}
