import type { Finding } from "../../../../explain/findings/index.ts";
import type { StackFrame } from "../../../../explain/measures/measured-stacks.ts";
import { findingInWords } from "../../findings.ts";
import { cutEnd, displayWidth } from "../common/text.ts";
import { frameLabel } from "../tree.ts";

/** A frame in full: what is searched in. */
export function frameText(frame: StackFrame): string {
  const { name, place } = frameLabel(frame, Number.POSITIVE_INFINITY);
  return name + place;
}

/** A finding in full: what is searched in. */
export function findingText(finding: Finding): string {
  return `${finding.kind} ${findingInWords(finding)}`;
}

const ESCAPE = "\u001b";
/** The styles of a text, which take no room. */
const STYLE = new RegExp(`(${ESCAPE}\\[[\\d;]*m)`);
const NO_STYLE = `${ESCAPE}[0m`;

/** A line with styles in it, its end cut off where it takes more than `width` columns. */
export function fitLine(line: string, width: number): string {
  let used = 0;
  let fitted = "";
  for (const [index, part] of line.split(STYLE).entries()) {
    if (index % 2 === 1) {
      fitted += part;
      continue;
    }
    const wide = displayWidth(part);
    if (used + wide > width) {
      const isStyled = fitted.includes(ESCAPE);
      return `${fitted}${cutEnd(part, width - used)}${isStyled ? NO_STYLE : ""}`;
    }
    fitted += part;
    used += wide;
  }
  return fitted;
}

/** The columns that a line with styles in it takes. */
export function lineWidth(line: string): number {
  return line
    .split(STYLE)
    .reduce((sum, part, index) => (index % 2 === 1 ? sum : sum + displayWidth(part)), 0);
}
