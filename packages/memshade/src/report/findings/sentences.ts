import type { Finding } from "../../analyses/findings/finding.ts";
import { agreeing } from "../../model/counted.ts";
import { formatBlocks, formatCount, plural } from "../format.ts";

/**
 * What is said around a finding's place: `300 of 1,000 blocks of`, the place, `are never released`. With the number in front it is a
 * sentence; all of it but the place takes no more than some thirty columns where `before` is `short`.
 */
export interface FindingSentence {
  readonly before: string;
  readonly after: string;
  /** Instead of `before` where the place needs the room. */
  readonly short?: string | undefined;
}

/** One sentence per kind. */
export function sentenceOf(finding: Finding): FindingSentence {
  switch (finding.kind) {
    case "leak":
      return ofBlocks(finding, "never released");
    case "unused":
      return ofBlocks(finding, "never used");
    case "never-read":
      return ofBlocks(finding, "never read");
    case "churn":
      return { before: "of", after: "are freed at once" };
    case "drag":
      return ofBlocks(finding, `idle the last ${Math.round(100 * (1 - finding.lastUse))} %`);
    case "dead":
      return { before: "stored by", after: "are overwritten unread" };
    case "silent":
      return { before: "stored by", after: "are there already" };
    case "moved":
      return { before: "copied by", after: `in ${plural(finding.moves, "move")}` };
    default:
      throw new RangeError(`no such finding: ${finding satisfies never}`);
  }
}

/** `300 of 1,000 blocks of … are never released`, `1 block of … is never released` */
function ofBlocks(
  { blocks, allocated }: { readonly blocks: number; readonly allocated: number },
  what: string,
): FindingSentence {
  const after = `${agreeing(blocks, "is", "are")} ${what}`;
  const short = `${formatBlocks(blocks)} of`;
  if (blocks === allocated) return { before: short, after };
  return { before: `${formatCount(blocks)} of ${formatBlocks(allocated)} of`, after, short };
}
