import { dirname } from "node:path";
import { classifySites } from "../../explain/analyses/hot-cold.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { loadDemangler } from "../../names/load/demangler.ts";
import { explained } from "../../names/memprof/input-reader.ts";
import { expandInputs, type MergeInput, withContentOfPipe } from "../../names/memprof/inputs.ts";
import { leftOutOf } from "../../names/memprof/left-out.ts";
import { heapProfileFromMemprof } from "../../profile/formats/memprof/index.ts";
import { counted } from "../../profile/model/counted.ts";
import { MIB_FIELDS } from "../../profile/model/mib-fields.ts";
import { say } from "../../record/host/run/terminal-line.ts";
import { Screen } from "../../show/report/terminal/common/screen.ts";
import { printHotCold } from "../../show/report/terminal/heap/hot-cold.ts";
import { screenOptions, standardOutput } from "../commands/report-options.ts";
import { thresholdsOf } from "../hot-cold-options.ts";
import { print } from "../line-input.ts";
import { keepHeapSmall } from "../small-heap.ts";
import type { MergeFlags } from "./flags.ts";
import { merge, NOTHING_READ, saySkipped } from "./merge-inputs.ts";
import { writeProfile } from "./write-profile.ts";

/** What `memshade merge` does. */
export async function runMerge(args: readonly string[], asked: MergeFlags): Promise<void> {
  keepHeapSmall();
  let isSomeSkipped = false;
  const skip = (message: string) => {
    isSomeSkipped = true;
    saySkipped(message);
  };
  const found = expandInputs(args, asked.skipBad === true ? skip : undefined).filter(
    ({ path, isMissing }) => {
      if (isMissing !== true) return true;
      const message = `${dirname(path)} has no heap profile: it was recorded without the heap tool`;
      if (asked.skipBad !== true) throw new UserError(message);
      skip(message);
      return false;
    },
  );
  const inputs = found.map((input) => explained(input.path, () => withContentOfPipe(input)));
  if (inputs.length === 0) throw new UserError(NOTHING_READ);
  refuseLosses(inputs, asked);
  // What is left of several is not one that was given alone.
  const flags = isSomeSkipped ? { ...asked, combine: true } : asked;
  const virtual = inputs.filter(({ hasVirtualClock }) => hasVirtualClock === true).length;
  if (virtual > 0)
    say(
      `${virtual} of the inputs measured lifetimes in allocations, not in milliseconds: ` +
        "for a compile, record them with --clock wall",
    );
  if (flags.classify === true) return classify(inputs, flags);
  await writeProfile(inputs, flags);
}

/**
 * A profile of what ran may have other counters than those of the heap, which are not merged here.
 *
 * @throws UserError where that is not asked for
 */
function refuseLosses(inputs: readonly MergeInput[], { force, skipBad }: MergeFlags): void {
  const losses = inputs.flatMap((input) => {
    const names = lossesOf(input, skipBad === true);
    return names.length === 0 ? [] : [`${input.path} has ${names.join(", ")} too`];
  });
  const [first, ...others] = losses;
  if (first === undefined) return;
  const more =
    others.length === 0 ? "" : `, and so do ${counted(others.length, "other input", "other inputs")}`;
  if (force === true) say(`left out, as only memory profiles are merged: ${first}${more}`);
  else
    throw new UserError(
      `${first}${more}; only memory profiles are merged, and the others would be lost: ` +
        "llvm-profdata merge keeps them, --force leaves them out",
    );
}

function lossesOf(input: MergeInput, isSkipped: boolean): string[] {
  try {
    return leftOutOf(input);
  } catch (error) {
    // Whoever reads the file says why it is left out.
    if (isSkipped && error instanceof UserError) return [];
    throw error;
  }
}

/** Writes the profile and prints the classification, with names, from one and the same merge. */
async function classify(inputs: readonly MergeInput[], flags: MergeFlags): Promise<void> {
  const named = (await merge(inputs, { fields: MIB_FIELDS, keepsSources: true }, flags)).take();
  await writeProfile(inputs, flags);
  const thresholds = thresholdsOf(flags);
  const demangle = loadDemangler();
  const profile = heapProfileFromMemprof(named.profile, { version: 0, notTracked: [], demangle });
  const screen = new Screen(screenOptions({ color: "auto" }, standardOutput()));
  const sites = classifySites(profile, thresholds);
  printHotCold(screen, profile, sites, thresholds, Number.POSITIVE_INFINITY);
  print(screen.text());
}
