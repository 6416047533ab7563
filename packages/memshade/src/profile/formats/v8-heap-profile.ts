import { NONE } from "../model/indices.ts";
import type { SampleFrame, SampleProfile } from "../model/sample-profile.ts";
import { exactAmount } from "./amounts.ts";
import { jsonArray } from "./json-pieces.ts";

/** Call in the tree. The path from the root, which is no call, is its stack. */
interface Node {
  readonly id: number;
  readonly frame: number;
  readonly children: Node[];
  size: number;
}

/**
 * Writes a sampling heap profile of V8 (`.heapprofile`) for one value column: a tree of calls, and a sample per stack
 * in the profile's order.
 *
 * @throws UserError if a sum is negative or above 2^53
 */
export function* writeHeapProfile(profile: SampleProfile, valueColumn: number): Generator<string> {
  const { stackPrefix, stackFrame, samples } = profile;
  const root: Node = { id: 1, frame: NONE, children: [], size: 0 };
  const nodes = new Map<number, Node>([[NONE, root]]);
  /** Creates nodes from the root on, and only for stacks with weight. */
  const nodeOf = (stack: number): Node => {
    const missing: number[] = [];
    let at = stack;
    for (; !nodes.has(at); at = stackPrefix[at]!) missing.push(at);
    let node = nodes.get(at)!;
    for (const next of missing.reverse()) {
      const child: Node = { id: nodes.size + 1, frame: stackFrame[next]!, children: [], size: 0 };
      nodes.set(next, child);
      node.children.push(child);
      node = child;
    }
    return node;
  };
  const sampled = new Set<Node>();
  for (let row = 0; row < samples.length; row++) {
    const value = exactAmount(samples.values[valueColumn]![row]!, "selfSize");
    if (value === 0) continue;
    const node = nodeOf(samples.stack[row]!);
    node.size = exactAmount(node.size + value, "selfSize");
    sampled.add(node);
  }
  yield '{"head":';
  yield* treeOf(profile, root);
  yield ',"samples":';
  yield* jsonArray([...sampled].map(({ id, size }, ordinal) => ({ size, nodeId: id, ordinal: ordinal + 1 })));
  yield "}\n";
}

/** Writes the tree without recursion, because it may be deeper than the call stack allows. */
function* treeOf({ frames }: SampleProfile, root: Node): Generator<string> {
  const open: { node: Node; written: number }[] = [{ node: root, written: 0 }];
  yield startOf(root, undefined);
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const child = top.node.children[top.written];
    if (child === undefined) {
      yield "]}";
      open.pop();
      continue;
    }
    if (top.written++ > 0) yield ",";
    yield startOf(child, frames[child.frame]);
    open.push({ node: child, written: 0 });
  }
}

function startOf({ id, size }: Node, frame: SampleFrame | undefined): string {
  const callFrame = {
    functionName: frame === undefined ? "(root)" : frame.function,
    scriptId: "0",
    url: frame?.file ?? "",
    // V8 counts both from 0, and uses -1 for unknown.
    lineNumber: (frame?.line || 0) - 1,
    columnNumber: (frame?.column || 0) - 1,
  };
  return `{"callFrame":${JSON.stringify(callFrame)},"selfSize":${size},"id":${id},"children":[`;
}
