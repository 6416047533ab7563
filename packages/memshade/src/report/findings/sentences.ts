import type {
  Finding,
  LeakFinding,
  MembersFinding,
  UnreadDataFinding,
} from "../../analyses/findings/finding.ts";
import { agreeing, counted } from "../../model/counted.ts";
import { formatBlocks, formatBytes, formatCount, formatPercent, plural } from "../format.ts";
import { memberNames } from "../waste-sentences.ts";

/**
 * What is said around a finding's place: `300 of 1,000 blocks of`, the place, `are never released`. With the number in front it is a
 * sentence; all of it but the place takes no more than some thirty columns where `before` is `short`.
 */
export interface FindingSentence {
  readonly before: string;
  readonly after: string;
  /** Instead of `before` where the place needs the room. */
  readonly short?: string | undefined;
  /** Instead of `after` where the place needs the room. */
  readonly shortAfter?: string | undefined;
}

/** One sentence per kind. */
export function sentenceOf(finding: Finding): FindingSentence {
  switch (finding.kind) {
    case "leak":
      return ofBlocks(finding, LEAK_STATES[finding.state]);
    case "unused":
      return ofBlocks(finding, "never used");
    case "never-read":
      return ofBlocks(finding, "never read");
    case "churn":
      return {
        before: `${agreeing(finding.amount, "block")} of`,
        after: finding.collected === true ? "are soon garbage" : "are freed at once",
        short: "of",
      };
    case "drag":
      return ofBlocks(finding, `idle the last ${Math.floor(100 * (1 - finding.lastUse))} %`);
    case "growth": {
      if (finding.unit === "calls") {
        const after = `in steps: reserve ${formatBytes(finding.reserve)}`;
        return { before: `${agreeing(finding.amount, "reallocation")} by`, after, short: "by" };
      }
      const after = `in ${counted(finding.copies, "copy", "copies")}: reserve ${formatBytes(finding.reserve)}`;
      return { before: "copied by", after, short: "by" };
    }
    case "over-capacity":
      return {
        before: "of",
        after: `is spare: ${formatBytes(finding.used)} of ${formatBytes(finding.size)} used`,
      };
    case "peak":
      return {
        before: `of the peak's ${formatBytes(finding.peak)} by`,
        after: `for ${formatPercent(finding.held, 1)} of the work`,
        short: "of the peak by",
      };
    case "dead":
      return { before: "stored by", after: "are never read" };
    case "silent":
      return { before: "stored by", after: "were there before" };
    case "clear":
      return { before: "of zeros by", after: "are never read" };
    case "redundant":
      return { before: "loaded by", after: "again in a loop" };
    case "write-only":
      return ofMembers(finding, "are never read");
    case "cold":
      return ofMembers(finding, "are never touched");
    case "moved":
      return { before: "copied by", after: `in ${plural(finding.moves, "move")}` };
    case "unread-data":
      return ofData(finding);
    case "unread-field": {
      const what = finding.written ? "written, never read" : "never read";
      const each = `${formatBytes(finding.each)} in ${plural(finding.objects, "object")}`;
      return { before: "in", after: `(${each}), ${what}`, shortAfter: what };
    }
    case "unread-objects":
      return { before: `in ${finding.type} by`, after: "are never read", short: "by" };
    default:
      throw new RangeError(`no such finding: ${finding satisfies never}`);
  }
}

/** `in track.comment of …`, or `in 24 of 96 bytes of …` where members have no names. */
function ofMembers({ type, fields, element }: MembersFinding, after: string): FindingSentence {
  const size = fields.reduce((sum, field) => sum + field.size, 0);
  const bytes = `in ${formatCount(size)} of ${formatCount(element)} bytes of`;
  const [field] = [...fields].sort((a, b) => b.size - a.size);
  if (field?.name === undefined || type === undefined) return { before: bytes, after, short: "in fields of" };
  const more = fields.length > 1 ? ` and ${fields.length - 1} more` : "";
  return { before: `in ${memberNames([field], type)}${more} of`, after, short: "in fields of" };
}

/** What is said of blocks in each state. */
const LEAK_STATES: { readonly [State in LeakFinding["state"]]: string } = {
  lost: "lost",
  host: "left to the host",
  growing: "never released",
  live: "never released",
};

/** `48.0 KiB  of 64.0 KiB of crc_table are never read`, `48.0 KiB  all of crc_table is never read` */
function ofData({ amount, bytes, written }: UnreadDataFinding): FindingSentence {
  const what = written ? "written, never read" : "never read";
  return amount === bytes
    ? { before: "all of", after: `is ${what}` }
    : { before: `of ${formatBytes(bytes)} of`, after: `are ${what}`, short: "of" };
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
