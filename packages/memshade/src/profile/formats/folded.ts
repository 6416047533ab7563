import { framesOfSampleStack, type SampleProfile, sumByStack } from "../model/sample-profile.ts";
import { exactAmount } from "./amounts.ts";

/**
 * Writes folded stacks. A line holds the frames joined by `;` (outermost first), a space, and the sum of the values in
 * `valueColumn`. Inlined frames end in `_[i]`, by the convention of flamegraph.pl. Lines are sorted; stacks without
 * weight are left out.
 *
 * @throws UserError if a sum is negative or above 2^53
 */
export function* writeFolded(profile: SampleProfile, valueColumn = 0): Generator<string> {
  const sums = new Map<string, number>();
  for (const { stack, values } of sumByStack(profile)) {
    const names = framesOfSampleStack(profile, stack).map((frame) => nameOf(profile, frame));
    const path = names.length === 0 ? "[no stack]" : names.reverse().join(";");
    sums.set(path, (sums.get(path) ?? 0) + values[valueColumn]!);
  }
  const lines = [...sums].filter(([, sum]) => exactAmount(sum, "the weight of a stack") > 0);
  lines.sort(([pathA], [pathB]) => (pathA < pathB ? -1 : 1));
  for (const [path, sum] of lines) yield `${path} ${sum}\n`;
}

function nameOf({ frames }: SampleProfile, index: number): string {
  const { function: name, inlined } = frames[index]!;
  const onOneLine = name.replaceAll(";", ":").replaceAll(/[\r\n]+/g, " ");
  return inlined === true ? `${onOneLine}_[i]` : onOneLine;
}
