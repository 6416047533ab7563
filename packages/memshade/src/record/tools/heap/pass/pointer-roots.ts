import { globalType, I32, I64, initialValue, type WasmModule } from "../../../../code/wasm/index.ts";
import { partitionPoint } from "../../../../ground/bytes/partition-point.ts";
import { areCollected } from "../../../../profile/model/collected-objects.ts";
import { addressesOf } from "../../../allocator/find/state-addresses.ts";
import { dataRange } from "../../../rewrite/facts/data-layout.ts";
import type { ModuleScan } from "../../../rewrite/facts/module-scan.ts";
import { HIDDEN_EXPORT_PREFIX } from "../../host-interface.ts";
import type { PointerRoots } from "../../options.ts";
import type { ToolSurroundings } from "../../tool.ts";

/** Allocators keep arrays of bins: parts of their state that they know by address are not further apart than such an array. */
const STATE_GAP_BYTES = 512;
const WORD_BYTES = 8;

const COLLECTED = "the program's garbage collector frees them when it runs";

/** What is exported for the host to look for pointers, and what it has to know to do so. */
export interface ExportedRoots {
  roots: PointerRoots | string;
  globals: { name: string; index: number }[];
}

/** Where a module may keep pointers to its blocks, or why that says nothing of them. */
export function findPointerRoots(around: ToolSurroundings): ExportedRoots {
  const { module, allocator, stackPointer, memory64 } = around;
  if (allocator.collector !== undefined || areCollected(allocator.functions))
    return { roots: COLLECTED, globals: [] };
  const globals = addressGlobals(module, memory64 ? I64 : I32).map((index) => ({
    name: `root.${index}`,
    index,
  }));
  const data = dataRange(module);
  const pointer = globals.find(({ index }) => index === stackPointer);
  return {
    globals,
    roots: {
      memory: `${HIDDEN_EXPORT_PREFIX}program`,
      globals: globals.map(({ name }) => HIDDEN_EXPORT_PREFIX + name),
      ...(pointer === undefined ? {} : { stackPointer: HIDDEN_EXPORT_PREFIX + pointer.name }),
      ...stackRange(initialValue(module, stackPointer), data),
      dataEnd: data?.to ?? 0,
      allocatorState: allocatorState(around),
    },
  };
}

/** Where the stack is: linkers place it on one side of the data. `top`: where its pointer begins. */
function stackRange(
  top: number | undefined,
  data: { from: number; to: number } | undefined,
): Pick<PointerRoots, "stackFrom" | "stackTo"> {
  if (top === undefined || top <= 0) return { stackFrom: 0, stackTo: 0 };
  if (data === undefined || data.from >= top) return { stackFrom: 0, stackTo: top };
  return data.to <= top ? { stackFrom: data.to, stackTo: top } : { stackFrom: 0, stackTo: 0 };
}

/** Globals that can change, or whose value comes from outside. */
function addressGlobals(module: WasmModule, type: number): number[] {
  const indices: number[] = [];
  for (let index = 0; index < module.importedGlobalCount + module.globals.length; index++) {
    const global = globalType(module, index);
    if (global.type === type && (global.mutable || index < module.importedGlobalCount)) indices.push(index);
  }
  return indices;
}

/**
 * Beginnings and ends of static data that is known by its address to functions of the allocator alone. It points to what is
 * free, and what is free begins inside the last word of the block before it.
 */
function allocatorState({ module, scan, allocator }: ToolSurroundings): number[] {
  const own = new Set([...allocator.internals, ...allocator.functions.map(({ index }) => index)]);
  const addresses = new Set<number>();
  for (const index of own)
    for (const address of addressesOf(module, scan, index)) if (!isOdd(address)) addresses.add(address);
  const others = addressesOfOthers(module, scan, own);
  const ranges: number[] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const address of Uint32Array.from(addresses).sort()) {
    const next = partitionPoint(0, others.length, (at) => others[at] < address);
    if (others[next] === address) continue;
    const isNeighbour = address - last <= STATE_GAP_BYTES && !(others[next - 1] > last);
    if (isNeighbour) ranges.pop();
    else ranges.push(address);
    ranges.push(Math.min(address + WORD_BYTES, others[next] ?? Number.POSITIVE_INFINITY));
    last = address;
  }
  return ranges;
}

/**
 * What may be addresses of variables with pointers in functions that are not among these, in order. Such variables begin at whole words. So
 * whatever is given odd constants is given texts or numbers, such as that of the line that a failure is reported of.
 */
function addressesOfOthers(
  { importedFunctionCount }: WasmModule,
  { addresses, argumentOf, firstAddress, facts }: ModuleScan,
  own: ReadonlySet<number>,
): Uint32Array {
  const numbers = new Set(argumentOf.filter((argument, at) => argument !== 0 && isOdd(addresses[at])));
  const others = new Uint32Array(addresses.length);
  let count = 0;
  for (let defined = 0; defined < facts.length; defined++) {
    if (own.has(defined + importedFunctionCount)) continue;
    for (let at = firstAddress[defined]; at < firstAddress[defined + 1]; at++)
      if (!isOdd(addresses[at]) && !numbers.has(argumentOf[at])) others[count++] = addresses[at];
  }
  return others.subarray(0, count).sort();
}

/** No pointer is where a variable at this address begins. */
function isOdd(address: number): boolean {
  return address % 4 !== 0;
}
