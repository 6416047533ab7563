import { dirname } from "node:path";
import { classifySites } from "../../analyses/hot-cold.ts";
import { UserError } from "../../bytes/errors.ts";
import { heapProfileFromMemprof } from "../../formats/memprof/index.ts";
import { say } from "../../host/run/terminal-line.ts";
import { loadDemangler } from "../../load/demangler.ts";
import { expandInputs, type MergeInput } from "../../memprof/inputs.ts";
import { MIB_FIELDS } from "../../model/mib-fields.ts";
import { Screen } from "../../report/terminal/common/screen.ts";
import { printHotCold } from "../../report/terminal/heap/hot-cold.ts";
import { screenOptions, standardOutput } from "../commands/report-options.ts";
import { thresholdsOf } from "../hot-cold-options.ts";
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
  const inputs = expandInputs(args, asked.skipBad === true ? skip : undefined).filter(
    ({ path, isMissing }) => {
      if (isMissing !== true) return true;
      const message = `${dirname(path)} has no heap profile: it was recorded without the heap tool`;
      if (asked.skipBad !== true) throw new UserError(message);
      skip(message);
      return false;
    },
  );
  if (inputs.length === 0) throw new UserError(NOTHING_READ);
  // What is left of several is not one that was given alone.
  const flags = isSomeSkipped ? { ...asked, combine: true } : asked;
  const virtual = inputs.filter(({ hasVirtualClock }) => hasVirtualClock === true).length;
  if (virtual > 0) {
    say(
      `${virtual} of the inputs measured lifetimes in allocations, not in milliseconds: ` +
        "for a compile, record them with --clock wall",
    );
  }
  if (flags.classify === true) return classify(inputs, flags);
  await writeProfile(inputs, flags);
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
  process.stdout.write(screen.text());
}
