import { memoryCount, memoryType, readNames, type WasmModule } from "../../code/wasm/index.ts";
import { canShareMemory, otherMemoriesNote } from "../rewrite/facts/other-memories.ts";
import { BEYOND_SENTENCE } from "../rewrite/facts/size-limits.ts";
import type { AllocatorPlan } from "./find/plan.ts";

export interface HookedFunction {
  role: string;
  index: number;
  name: string | undefined;
}

export interface AllocatorDescription {
  how: string;
  needsConfirmation: boolean;
  functions: HookedFunction[];
  /** Reason why no function is hooked. */
  refused?: string;
  /** Set if functions look like an allocator but were not hooked, so that the user should know. */
  doubtful?: true;
  /** Pairs of functions that look like further allocators, as texts of an `--allocator` option. */
  further?: string[];
  /** Functions that always return a block from a callee, of a size that their caller decides. */
  layers?: number[];
}

/**
 * Returns the description of the allocator, and notes on what the profile does not include. `held`: a tool keeps the
 * memory below 4 GiB.
 */
export function allocationNotes(
  module: WasmModule,
  plan: AllocatorPlan,
  acrossThreads: boolean,
  held: boolean,
): { allocator: AllocatorDescription; notTracked: string[] } {
  const notTracked: string[] = [];
  if (plan.collector !== undefined) notTracked.push(plan.collector);
  notTracked.push(...otherMemoriesNote(module));
  const hasMemory = memoryCount(module) > 0;
  if (hasMemory && memoryType(module, 0).index64 && !held) notTracked.push(BEYOND_SENTENCE);
  if (acrossThreads)
    notTracked.push(
      "Threads share the module's memory: counts of allocations and live blocks are exact, but two accesses to the same " +
        "8 bytes at the same time may count as one.",
    );
  else if (hasMemory && memoryType(module, 0).shared)
    notTracked.push(
      "The module's memory is shared between threads, and each thread is recorded separately: a block that another thread " +
        "frees than the one that allocated it stays live in the profile." +
        (canShareMemory(module) ? " `memshade node` records all threads together." : ""),
    );
  const refused = plan.functions.length === 0 ? plan.notes.join(" ") : undefined;
  return {
    allocator: {
      how: plan.how,
      needsConfirmation: plan.needsConfirmation,
      functions: plan.functions.map(({ role, index, name }) => ({ role, index, name })),
      ...(refused === undefined ? {} : { refused }),
      ...(refused !== undefined && plan.notes.length > 1 ? { doubtful: true as const } : {}),
      ...(plan.further.length === 0 ? {} : { further: plan.further }),
      ...(plan.layers.length === 0 ? {} : { layers: plan.layers }),
    },
    notTracked,
  };
}

/**
 * Returns a note on functions that are not instrumented because engines would reject their number of locals or bytes.
 */
export function largeFunctionsNote(module: WasmModule, functions: ReadonlySet<number>): string {
  const names = readNames(module).functions;
  const [first] = functions;
  const name = names.get(first) ?? `#${first}`;
  const moreText = functions.size > 1 ? ` and ${functions.size - 1} more` : "";
  return `${name}${moreText} ${functions.size > 1 ? "are" : "is"} not instrumented: engines would refuse a larger function.`;
}
