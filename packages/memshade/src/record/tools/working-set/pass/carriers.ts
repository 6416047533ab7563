import {
  decodeLocals,
  type FuncType,
  type FunctionBody,
  functionType,
  I32,
  type WasmModule,
} from "../../../../code/wasm/index.ts";
import { findReferences } from "../../../rewrite/facts/function-references.ts";
import { FunctionFact, type ModuleScan } from "../../../rewrite/facts/module-scan.ts";
import type { AppendedFunctions } from "../../../rewrite/write/appended-functions.ts";
import type { PollPlan } from "./poll-plan.ts";

/** Bodies may become several times as large, and where engines do not accept the result they stay as they are. */
const LARGEST_BODY_BYTES = 500_000;
const MOST_LOCALS = 40_000;
/** What engines allow. */
const MOST_PARAMETERS = 1000;
/** Types of numbers and vectors: a byte each. */
const SMALLEST_NUMERIC = 0x7b;

/**
 * Functions that take the countdown as a last parameter and return it as a last result, by index, with their new
 * types: those that only direct calls and the host, by wrappers, reach. Engines keep it in a register then, wherever the program is.
 */
export function findCarriers(
  module: WasmModule,
  scan: ModuleScan,
  polls: PollPlan,
  appended: AppendedFunctions,
): ReadonlyMap<number, number> {
  const carriers = new Map<number, number>();
  if (scan.hasTailCalls || module.bodies.some((body) => mayBeLeftAlone(module, body))) return carriers;
  const reached = findReferences(module, scan).functions;
  if (module.start !== undefined) reached.add(module.start);
  const called = new Set(scan.callees);
  for (const [defined, body] of module.bodies.entries()) {
    const index = defined + module.importedFunctionCount;
    if (!called.has(index) || reached.has(index) || !polls.mayAccess(index)) continue;
    if ((scan.facts[defined] & FunctionFact.HasIndirectTailCall) !== 0) continue;
    const type = functionType(module, index);
    if (!takesMore(type) || !hasPlace(module, body)) continue;
    carriers.set(index, appended.typeIndex([...type.params, I32], [...type.results, I32]));
  }
  return carriers;
}

/** A function that stays as it is cannot call one of another type. */
function mayBeLeftAlone(module: WasmModule, body: FunctionBody): boolean {
  if (body.end - body.start > LARGEST_BODY_BYTES) return true;
  // A declaration of that many takes five bytes.
  if (body.codeStart - body.start < 5) return false;
  return decodeLocals(module, body).reduce((sum, { count }) => sum + count, 0) > MOST_LOCALS;
}

function takesMore({ params, results }: FuncType): boolean {
  if (params.length === MOST_PARAMETERS) return false;
  return results.length === 0 || (results.length === 1 && results[0] >= SMALLEST_NUMERIC);
}

/** Whether the parameter can take the place of the first local. */
function hasPlace(module: WasmModule, body: FunctionBody): boolean {
  const [first] = decodeLocals(module, body);
  return first === undefined || (first.type === I32 && first.count > 0);
}
