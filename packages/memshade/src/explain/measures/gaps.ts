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
  "The code that allocates has neither names nor lines, and findings of its blocks need one: build with names (docs/guides/names.md).";

/** Some blocks stand out if they are no more than this part of all. */
const FEW = 1 / 100;

/** Sentences: all that a reader must know before trusting the numbers. */
export function gapsOf(profile: HeapProfile): string[] {
  const { allocations, inContexts } = heapTotals(profile);
  const gaps = [...profile.description.notTracked];
  if (inContexts.allocations < allocations)
    gaps.push(
      `${groupDigits(allocations - inContexts.allocations)} of ${groupDigits(allocations)} allocations ` +
        "belong to no site below.",
    );
  else if (inContexts.allocations > allocations)
    gaps.push(
      `The sites below add up to ${groupDigits(inContexts.allocations - allocations)} allocations more than the ` +
        "run counted: a block that is live at a dump is in that dump and in the last one.",
    );
  if (areAccessesCut(profile))
    gaps.push(
      `Counters of accesses stop at ${profile.description.counterLimit} for each ` +
        `${profile.description.granuleBytes} bytes of a block, and some may be full: what they count is that or more.`,
    );
  // What brings names of native programs stands there already.
  if (isNameless(profile) && !isOfNativeProgram(profile)) gaps.push(NAMELESS);
  gaps.push(...heapsInBlocks(profile), ...suppressedInWords(profile));
  const sentences = new Set(gaps);
  // What several tools say of a module, one with its name and one without, is said once.
  const isRepeated = (gap: string) =>
    profile.modules.some(
      ({ name }) => gap.startsWith(`${name}: `) && sentences.has(gap.slice(name.length + 2)),
    );
  return [...sentences].filter((gap) => !isRepeated(gap));
}

/** What must be known of two profiles before they are compared; what is so for one of them alone says for which. */
export function gapsOfBoth(older: readonly string[], newer: readonly string[]): string[] {
  const [old, now] = [new Set(older), new Set(newer)];
  return [
    ...[...old].map((gap) => (now.has(gap) ? gap : `Old: ${gap}`)),
    ...[...now].filter((gap) => !old.has(gap)).map((gap) => `New: ${gap}`),
  ];
}

/** Programs that keep a heap of their own take memory for it by pages at least. */
const PAGE_BYTES = 65536;

/** A heap that consists of one block, or of a few among many, may well be one that the program cuts up itself. */
function heapsInBlocks(profile: HeapProfile): string[] {
  const dominant = dominantBlocks(profile);
  if (dominant === undefined || dominant.peakBlocks === 1 || dominant.bytes < PAGE_BYTES) return [];
  const { blocks, bytes, peakBlocks, peakBytes } = dominant;
  const further = profile.modules.flatMap(({ allocator }) => allocator?.further ?? []);
  const searched = profile.modules.some(({ allocator }) => allocator !== undefined && isFound(allocator.how));
  const isFew = blocks === 1 || (further.length > 0 && blocks <= peakBlocks * FEW);
  // Allocators of native programs are those that the dynamic linker knows.
  if (!searched || !isFew || isOfNativeProgram(profile)) return [];
  const share = `${formatPercent(bytes, peakBytes)} of the peak`;
  const what =
    blocks === 1
      ? `One block of ${formatBytes(bytes)} is ${share}. If the program cuts it up itself, what lies in it is not told apart`
      : `${groupDigits(blocks)} blocks with ${formatBytes(bytes)} are ${share}. If the program cuts them up itself, what lies in them is not told apart`;
  if (further.length === 0)
    return [`${what}: --allocator malloc=NAME|#INDEX,free=NAME|#INDEX names who does.`];
  const [first, ...others] = further.map((text) => `--allocator ${quoted(text)}`);
  const or = others.length === 0 ? "" : ` Others that may: ${others.join("; ")}.`;
  return [`${what}; these functions look like they do: ${first}.${or}`];
}

const quoted = (text: string) => (/^[\w=:,.]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

const isFound = (how: RunAllocator["how"]) => how !== "option" && how !== "none";

/** What suppressions took out of the leaks, each with its reason, and those that fit nothing. */
function suppressedInWords({ description }: HeapProfile): string[] {
  return (description.suppressed ?? []).map(({ suppression, paths, blocks, bytes }) => {
    const { name, place, reason } = suppression;
    const because = reason === undefined || reason === name ? "" : `: ${reason}`;
    if (paths === 0) return `The suppression "${name}" (${place}) fits no live block.`;
    return (
      `${counted(blocks, "live block", "live blocks")} (${formatBytes(bytes)}) of ` +
      `${counted(paths, "call path")} ${agreeing(blocks, "is", "are")} suppressed by "${name}" (${place})${because}.`
    );
  });
}
