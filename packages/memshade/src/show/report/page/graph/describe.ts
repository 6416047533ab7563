import { counted } from "../../../../profile/model/counted.ts";
import { amount, amountInWords, difference, formatPercent } from "../app/parts/amounts.ts";
import type { PageState } from "../app/state/state.ts";
import type { GraphWeight } from "./graph-props.ts";
import type { MeasuredTree } from "./layout/measured-tree.ts";
import type { BoxNames } from "./paint/box-names.ts";
import type { ColourChoice } from "./paint/colour-choices.ts";
import type { BoxDescription } from "./picture.ts";

export interface Described {
  names: BoxNames;
  weight: GraphWeight;
  colour: ColourChoice;
  /** 1 for each frame whose box has the library's frames that it calls. */
  isFolded?: Uint8Array | undefined;
  /** Boxes have an amount of their own: not where callers are below. */
  hasOwn: boolean;
}

/** What a box has; in a comparison, what one side has, or how much more than before. */
export function amountOf(
  { tree, of }: MeasuredTree,
  { unit, clock }: GraphWeight,
  side: PageState["side"],
  box: number,
): string {
  const ofSide = side === "difference" ? undefined : of(side);
  if (ofSide !== undefined) return amountInWords(ofSide[box], unit, clock);
  const [before, after] = [of("before")?.[box], of("after")?.[box]];
  return before === undefined || after === undefined
    ? amountInWords(tree.total[0][box], unit, clock)
    : difference(after - before, unit, clock);
}

/** What a tip shows of a box, and a live region reads. */
export function describeBox(
  { tree, of }: MeasuredTree,
  { names, weight, colour, isFolded, hasOwn }: Described,
  box: number,
  rest?: { count: number; value: number },
  margin = "",
): BoxDescription {
  const inWords = (value: number) => amountInWords(value, weight.unit, weight.clock);
  const whole = tree.total[0][0];
  const shareOf = (value: number, off = "") =>
    `${inWords(value)}${off}, ${formatPercent(value, whole)} of ${inWords(whole)}`;
  if (rest !== undefined)
    return {
      name: `${rest.count} more`,
      place: "",
      facts: [shareOf(rest.value), "each is too narrow to be drawn"],
    };
  const frame = tree.frame[box];
  const value = tree.total[0][box];
  const facts: string[] = [];
  const [before, after] = [of("before")?.[box], of("after")?.[box]];
  if (before !== undefined && after !== undefined)
    facts.push(
      `${difference(after - before, weight.unit, weight.clock)}: ${inWords(before)} before, ${inWords(after)} after`,
    );
  else facts.push(shareOf(value, margin));
  const own = tree.own[0][box];
  if (hasOwn && own > 0 && own < value) facts.push(`${inWords(own)} of it in itself`);
  const matched = of("matched")?.[box] ?? 0;
  if (matched > 0 && matched < value) facts.push(`${inWords(matched)} of it found`);
  if (colour.ratio !== undefined) {
    const [part, by] = [of("of")![box], of("by")![box]];
    const { label, unit, clock } = colour.ratio.words;
    if (by > 0) facts.push(`${label}: ${amount(part / by, unit, clock)}`);
  }
  const merged = of("merged")?.[box] ?? 0;
  if (merged > 0) facts.push(`${counted(merged, "merged call path")} in it`);
  if (frame >= 0 && isFolded?.[frame] === 1) facts.push("with the library's frames that it calls");
  return { ...names.full(frame, merged), facts };
}
