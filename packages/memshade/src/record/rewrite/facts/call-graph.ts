import type { WasmModule } from "../../../code/wasm/index.ts";
import type { ModuleScan } from "./module-scan.ts";

/**
 * Returns the strongly connected components of the direct calls among defined functions (Tarjan 1972, without
 * recursion): a component number per defined function, −1 for one that is not recursive.
 */
export function recursiveComponents(module: WasmModule, scan: ModuleScan): Int32Array {
  const count = module.bodies.length;
  const imported = module.importedFunctionCount;
  const { callees, firstCallee } = scan;
  const component = new Int32Array(count).fill(-1);
  const index = new Int32Array(count);
  const low = new Int32Array(count);
  const onStack = new Uint8Array(count);
  const stack: number[] = [];
  const path: number[] = [];
  const edge = new Int32Array(count);
  let next = 1;
  let components = 0;
  for (let root = 0; root < count; root++) {
    if (index[root] !== 0) continue;
    path.push(root);
    while (path.length > 0) {
      const at = path[path.length - 1];
      if (index[at] === 0) {
        index[at] = next;
        low[at] = next++;
        stack.push(at);
        onStack[at] = 1;
        edge[at] = firstCallee[at];
      }
      if (edge[at] < firstCallee[at + 1]) {
        const callee = callees[edge[at]++] - imported;
        if (callee < 0) continue;
        if (index[callee] === 0) path.push(callee);
        else if (onStack[callee] === 1) low[at] = Math.min(low[at], index[callee]);
        continue;
      }
      path.pop();
      if (path.length > 0) low[path[path.length - 1]] = Math.min(low[path[path.length - 1]], low[at]);
      if (low[at] !== index[at]) continue;
      let member = stack.pop() as number;
      onStack[member] = 0;
      const single = member === at && !callsItself(at + imported, at, scan);
      const number = single ? -1 : components++;
      component[member] = number;
      while (member !== at) {
        member = stack.pop() as number;
        onStack[member] = 0;
        component[member] = number;
      }
    }
  }
  return component;
}

/**
 * Returns 1 for defined functions such that every cycle of direct calls contains one of them: `initial`, and targets of
 * back edges of a depth-first search from the others.
 */
export function breakCircles(module: WasmModule, scan: ModuleScan, initial: Uint8Array): Uint8Array {
  const count = module.bodies.length;
  const imported = module.importedFunctionCount;
  const { callees, firstCallee } = scan;
  const chosen = initial.slice();
  const state = new Uint8Array(count);
  const [unseen, onPath, done] = [0, 1, 2];
  const edge = new Int32Array(count);
  const path: number[] = [];
  for (let root = 0; root < count; root++) {
    if (state[root] !== unseen || initial[root] === 1) continue;
    path.push(root);
    while (path.length > 0) {
      const at = path[path.length - 1];
      if (state[at] === unseen) {
        state[at] = onPath;
        edge[at] = firstCallee[at];
      }
      if (edge[at] === firstCallee[at + 1]) {
        state[at] = done;
        path.pop();
        continue;
      }
      const callee = callees[edge[at]++] - imported;
      // A chosen function already ends every path that leads to it.
      if (callee < 0 || chosen[callee] === 1) continue;
      if (state[callee] === onPath) chosen[callee] = 1;
      else if (state[callee] === unseen) path.push(callee);
    }
  }
  return chosen;
}

function callsItself(index: number, defined: number, scan: ModuleScan): boolean {
  for (let i = scan.firstCallee[defined]; i < scan.firstCallee[defined + 1]; i++)
    if (scan.callees[i] === index) return true;
  return false;
}

/**
 * Returns 1 for every function (imports included) that reaches one of `targets` by direct calls. Calls for which
 * `leadsNowhere` holds are ignored.
 */
export function functionsReaching(
  module: WasmModule,
  scan: ModuleScan,
  targets: Iterable<number>,
  leadsNowhere: (caller: number, callee: number) => boolean = () => false,
): Uint8Array {
  const imported = module.importedFunctionCount;
  const total = imported + module.bodies.length;
  const firstCaller = new Int32Array(total + 1);
  for (const callee of scan.callees) if (callee < total) firstCaller[callee + 1]++;
  for (let i = 0; i < total; i++) firstCaller[i + 1] += firstCaller[i];
  const callers = new Int32Array(scan.callees.length);
  const fill = firstCaller.slice();
  for (let i = 0; i < module.bodies.length; i++)
    for (let e = scan.firstCallee[i]; e < scan.firstCallee[i + 1]; e++)
      if (scan.callees[e] < total) callers[fill[scan.callees[e]]++] = i + imported;
  const reached = new Uint8Array(total);
  const work: number[] = [];
  for (const target of targets) {
    if (reached[target] === 1) continue;
    reached[target] = 1;
    work.push(target);
  }
  for (let at = work.pop(); at !== undefined; at = work.pop())
    for (let i = firstCaller[at]; i < firstCaller[at + 1]; i++) {
      const caller = callers[i];
      if (reached[caller] === 1 || leadsNowhere(caller, at)) continue;
      reached[caller] = 1;
      work.push(caller);
    }
  return reached;
}
