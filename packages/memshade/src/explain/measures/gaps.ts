import { agreeing, counted, groupDigits } from "../../profile/model/counted.ts";
import { formatBytes, formatPercent } from "../../profile/model/format.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import { isOfNativeProgram } from "../../profile/model/known-fields.ts";
import type { RunAllocator } from "../../profile/model/run.ts";
import { areAccessesCut } from "../analyses/granule-accesses.ts";
import { dominantBlocks } from "../analyses/heap.ts";
import { heapTotals } from "../analyses/totals.ts";
import { isNameless } from "../findings/places.ts";

const NAMELESS =
  "The code that allocates has neither names nor lines, so there are no findings on its blocks: build with names (docs/guides/names.md).";

/** Largest part of all blocks that counts as few blocks. */
const FEW = 1 / 100;

/** Returns sentences about everything that a reader must know before trusting the numbers. */
export function gapsOf(profile: HeapProfile): string[] {
  const { allocations, inContexts } = heapTotals(profile);
  const gaps = [...profile.description.notTracked];
  if (inContexts.allocations < allocations)
    gaps.push(
      `${groupDigits(allocations - inContexts.allocations)} of ${groupDigits(allocations)} allocations ` +
        "are at no site below.",
    );
  else if (inContexts.allocations > allocations)
    gaps.push(
      `The sites below have ${groupDigits(inContexts.allocations - allocations)} allocations too many: a block ` +
        "that was live at a dump counts in that dump and in the last one.",
    );
  if (areAccessesCut(profile))
    gaps.push(
      `Some access counts are lower bounds: counters stop at ${groupDigits(profile.description.counterLimit ?? 0)} ` +
        `for each ${profile.description.granuleBytes} bytes of a block.`,
    );
  // Native programs already have a sentence about missing names.
  if (isNameless(profile) && !isOfNativeProgram(profile)) gaps.push(NAMELESS);
  gaps.push(...heapsInBlocks(profile), ...suppressedInWords(profile));
  const sentences = new Set(gaps);
  // A sentence that several tools have, with and without the module's name, is printed once.
  const isRepeated = (gap: string) =>
    profile.modules.some(
      ({ name }) => gap.startsWith(`${name}: `) && sentences.has(gap.slice(name.length + 2)),
    );
  return [...sentences].filter((gap) => !isRepeated(gap));
}

/** Returns the gaps of two profiles before a comparison; gaps of only one profile name it. */
export function gapsOfBoth(older: readonly string[], newer: readonly string[]): string[] {
  const [old, now] = [new Set(older), new Set(newer)];
  return [
    ...[...old].map((gap) => (now.has(gap) ? gap : `Old: ${gap}`)),
    ...[...now].filter((gap) => !old.has(gap)).map((gap) => `New: ${gap}`),
  ];
}

/** Least size of a program's own heap: such programs allocate at least pages. */
const PAGE_BYTES = 65536;

/**
 * Returns a sentence if the heap consists of one block, or of a few among many, which the program may subdivide itself.
 */
function heapsInBlocks(profile: HeapProfile): string[] {
  const dominant = dominantBlocks(profile);
  if (dominant === undefined || dominant.peakBlocks === 1 || dominant.bytes < PAGE_BYTES) return [];
  const { blocks, bytes, peakBlocks, peakBytes } = dominant;
  const further = profile.modules.flatMap(({ allocator }) => allocator?.further ?? []);
  const searched = profile.modules.some(({ allocator }) => allocator !== undefined && isFound(allocator.how));
  const isFew = blocks === 1 || (further.length > 0 && blocks <= peakBlocks * FEW);
  // Allocators of native programs are those known to the dynamic linker.
  if (!searched || !isFew || isOfNativeProgram(profile)) return [];
  const share = `${formatPercent(bytes, peakBytes)} of the peak`;
  const sentence =
    blocks === 1
      ? `One block of ${formatBytes(bytes)} is ${share}. If the program has its own allocator inside it, the blocks of that are not recorded`
      : `${groupDigits(blocks)} blocks with ${formatBytes(bytes)} are ${share}. If the program has its own allocator inside them, the blocks of that are not recorded`;
  if (further.length === 0)
    return [`${sentence}: name its functions with --allocator malloc=NAME|#INDEX,free=NAME|#INDEX.`];
  const [first, ...otherPairs] = further.map((text) => `--allocator ${quoted(text)}`);
  const or = otherPairs.length === 0 ? "" : ` Other candidates: ${otherPairs.join("; ")}.`;
  return [`${sentence}; its functions may be: ${first}.${or}`];
}

const quoted = (text: string) => (/^[\w=:,.]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

const isFound = (how: RunAllocator["how"]) => how !== "option" && how !== "none";

/**
 * Returns sentences about the leaks that suppressions removed, with their reasons, and about suppressions without a
 * match.
 */
function suppressedInWords({ description }: HeapProfile): string[] {
  return (description.suppressed ?? []).map(({ suppression, paths, blocks, bytes }) => {
    const { name, place, reason } = suppression;
    const because = reason === undefined || reason === name ? "" : `: ${reason}`;
    if (paths === 0) return `The suppression "${name}" (${place}) matches no live block.`;
    return (
      `${counted(blocks, "live block", "live blocks")} (${formatBytes(bytes)}) of ` +
      `${counted(paths, "call path")} ${agreeing(blocks, "is", "are")} suppressed by "${name}" (${place})${because}.`
    );
  });
}
