import type { IndexIntoContextTable } from "../../profile/model/indices.ts";
import { framesOfContext } from "../../profile/model/stacks.ts";
import type { RecordedTools } from "../analyses/recorded-tools.ts";
import { stacksOf } from "../measures/index.ts";
import { placePath } from "../measures/measured-stacks.ts";
import { keyFrame as heapKeyFrame } from "./heap-groups.ts";
import type { KeyFrame } from "./path-keys.ts";
import { keyFrame } from "./place-diff.ts";

/** Returns all recorded call paths, innermost frame first, as keys for finding them in other runs. */
export function codePaths(run: RecordedTools): KeyFrame[][] {
  const { heap } = run;
  const paths: KeyFrame[][] = [];
  for (let context = 0; context < (heap?.contexts.length ?? 0); context++)
    paths.push(
      framesOfContext(heap!, context as IndexIntoContextTable).map((frame) => heapKeyFrame(heap!, frame)),
    );
  for (const tool of ["waste", "workingset", "objects"] as const) {
    const stacks = stacksOf(tool, run);
    for (let row = 0; row < (stacks?.rows.length ?? 0); row++)
      paths.push(placePath(stacks!, row).flatMap((frame) => (frame.isWord === true ? [] : keyFrame(frame))));
  }
  return paths;
}
