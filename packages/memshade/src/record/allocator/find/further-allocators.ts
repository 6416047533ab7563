import type { WasmModule } from "../../../code/wasm/index.ts";
import { entryOf } from "../../../ground/bytes/entries.ts";
import { summarizeBody } from "./body-summary.ts";
import { type CallGraph, callersOf } from "./call-graph.ts";
import { definedType, fitsOperands } from "./hooks.ts";
import { ANY_PARAM } from "./origin.ts";
import { type AllocatorFunction, type AllocatorPlan, type OperandPositions, ROLES } from "./plan.ts";
import { splitName, withoutCloneSuffix } from "./symbol-names.ts";

/*
 * Allocators of a program that divide large blocks: PHP's Zend, the zone of Doom, SQLite's memsys5. They are recognized
 * by names such as `_emalloc` and `_efree`, and offered if most of a heap is one block.
 */

const SUFFIXES = [
  ["realloc", /re_?alloc(?:ate)?$/i],
  ["calloc", /calloc$/i],
  ["free", /(?:free|de_?alloc(?:ate)?)$/i],
  ["malloc", /m?alloc(?:ate)?$/i],
] as const;

type FamilyRole = (typeof SUFFIXES)[number][0];

interface Member {
  index: number;
  /** Reference for `--allocator`: the name, or the index if the name is not unique. */
  reference: string;
}

const MOST_OFFERED = 3;

/**
 * Finds pairs of functions that allocate and free by name and type, and do not belong to the allocator in `plan`.
 * Returns each as the text of an `--allocator` option, most called first, layers on top of the allocator last.
 */
export function findFurtherAllocators(
  module: WasmModule,
  graph: CallGraph,
  names: ReadonlyMap<number, string>,
  plan: Pick<AllocatorPlan, "functions" | "internals" | "wrappers">,
): string[] {
  const ownParts = new Set([...plan.internals, ...plan.wrappers]);
  const hooked = new Map(plan.functions.map((entry) => [entry.index, entry]));
  const families = new Map<string, Map<FamilyRole, Member>>();
  const shared = namesOfSeveral(names.values());
  const addMember = (index: number, name: string) => {
    if (index < graph.imported || ownParts.has(index)) return;
    const { scope, base } = splitName(withoutCloneSuffix(name));
    const match = SUFFIXES.find(([, suffix]) => suffix.test(base));
    if (match === undefined) return;
    const key = `${scope}::${base.replace(match[1], "")}`;
    const family = entryOf(families, key, () => new Map<FamilyRole, Member>());
    if (!family.has(match[0]))
      family.set(match[0], { index, reference: shared.has(name) ? `#${index}` : name });
  };
  for (const [index, name] of names) addMember(index, name);
  for (const { kind, index, name } of module.exports)
    if (kind === "function" && !names.has(index)) addMember(index, name);

  const found: { text: string; isLayer: boolean; uses: number }[] = [];
  for (const family of families.values()) {
    const [malloc, free] = [family.get("malloc"), family.get("free")];
    if (malloc === undefined || free === undefined) continue;
    const text = optionFor(module, family, free);
    const uses = callersOf(graph, malloc.index).length + callersOf(graph, free.index).length;
    const isLayer = asksForEachBlock(module, malloc.index, hooked);
    if (text !== undefined) found.push({ text, isLayer, uses });
  }
  return found
    .sort((a, b) => Number(a.isLayer) - Number(b.isLayer) || b.uses - a.uses)
    .slice(0, MOST_OFFERED)
    .map(({ text }) => text);
}

/** Returns names that occur more than once. Static functions of several files may share a name. */
function namesOfSeveral(names: Iterable<string>): Set<string> {
  const [seen, shared] = [new Set<string>(), new Set<string>()];
  for (const name of names) (seen.has(name) ? shared : seen).add(name);
  return shared;
}

/** True if a function requests its own size parameter from the known allocator, or that size and a header. */
function asksForEachBlock(
  module: WasmModule,
  index: number,
  hooked: ReadonlyMap<number, AllocatorFunction>,
): boolean {
  const calls = summarizeBody(module, index, [])?.calls ?? [];
  return calls.some(({ callee, operands }) => {
    const position = hooked.get(callee)?.sizeParam ?? -1;
    return position >= 0 && (operands[position] & ANY_PARAM) !== 0;
  });
}

/**
 * If the release takes more than the block, the heap is its first parameter, and also that of the other
 * functions.
 */
function optionFor(
  module: WasmModule,
  family: ReadonlyMap<FamilyRole, Member>,
  free: Member,
): string | undefined {
  const shift = (definedType(module, free.index)?.params.length ?? 0) > 1 ? 1 : 0;
  const items: string[] = [];
  for (const role of ["malloc", "free", "realloc", "calloc"] as const) {
    const member = family.get(role);
    if (member === undefined) continue;
    const text = itemFor(module, role, member, shift);
    if (text !== undefined) items.push(text);
    else if (role === "malloc" || role === "free") return undefined;
  }
  return items.join(",");
}

function itemFor(
  module: WasmModule,
  role: FamilyRole,
  { index, reference }: Member,
  shift: number,
): string | undefined {
  const type = definedType(module, index);
  const usual = ROLES[role].operands;
  const move = (position: number) => (position < 0 ? position : position + shift);
  const operands: OperandPositions = {
    ...usual,
    sizeParam: move(usual.sizeParam),
    countParam: move(usual.countParam),
    pointerParam: move(usual.pointerParam),
  };
  if (type === undefined || !fitsOperands(type, operands)) return undefined;
  const { pointerParam, countParam, sizeParam } = operands;
  const positions = [pointerParam, countParam, sizeParam].filter((position) => position >= 0);
  return `${role}=${reference}${shift === 0 ? "" : positions.map((position) => `:${position}`).join("")}`;
}
