import { hasColumn } from "../../explain/fleet/measures.ts";
import { isAdditive, MEASURES, stacksOf } from "../../explain/measures/index.ts";
import type { Measure, MeasuredProfiles } from "../../explain/measures/measure.ts";
import { placePath } from "../../explain/measures/measured-stacks.ts";
import { wholeOf } from "../../explain/measures/ranking.ts";
import type { StoredAmount, StoredFrame } from "../stored-run.ts";
import { sourceFrame } from "./source-frame.ts";

/** What a run has of each measure that adds up; by place where no other table has that. */
export function amountsOf(profiles: MeasuredProfiles): StoredAmount[] {
  return MEASURES.filter(isAdditive).flatMap((one) => {
    const whole = wholeOf(one, profiles);
    if (whole === undefined || one.unknown?.(profiles) !== undefined) return [];
    return [{ measure: one.id, amount: whole }, ...(hasColumn(one) ? [] : amountsOfPlaces(one, profiles))];
  });
}

function amountsOfPlaces(one: Measure, profiles: MeasuredProfiles): StoredAmount[] {
  const { amounts, isUnplaced } = one.column(profiles)!;
  if (isUnplaced === true) return [];
  const stacks = stacksOf(one.tool, profiles)!;
  const sums = new Map<string, { place: StoredFrame; amount: number }>();
  for (let row = 0; row < stacks.rows.length; row++) {
    const amount = Number(amounts[row]);
    const [own] = amount === 0 ? [] : placePath(stacks, row);
    if (own === undefined || own.isWord === true) continue;
    const place = sourceFrame(own, (own.address ?? 0) % 2 ** 32, own.module);
    const key = `${place.guid} ${place.lineOffset} ${place.place?.buildId}`;
    const sum = sums.get(key);
    if (sum === undefined) sums.set(key, { place, amount });
    else sum.amount += amount;
  }
  return Array.from(sums.values(), (sum) => ({ measure: one.id, ...sum }));
}
