import type { IndexIntoContextTable } from "../../model/indices.ts";
import { framesOfContext } from "../../model/stacks.ts";
import { objectPlaces } from "../call-tree/object-stacks.ts";
import { wastePlaces } from "../call-tree/waste-stacks.ts";
import { workingSetPlaces } from "../call-tree/working-set-stacks.ts";
import type { RecordedTools } from "../findings/run-findings.ts";
import { keyFrame as heapKeyFrame } from "./heap-groups.ts";
import type { KeyFrame } from "./path-keys.ts";
import { keyFrame } from "./place-diff.ts";

/** All call paths that tools recorded, innermost first, as they are found again in other runs. */
export function codePaths({ heap, waste, workingset, objects }: RecordedTools): KeyFrame[][] {
  const paths: KeyFrame[][] = [];
  for (let context = 0; context < (heap?.contexts.length ?? 0); context++)
    paths.push(
      framesOfContext(heap!, context as IndexIntoContextTable).map((frame) => heapKeyFrame(heap!, frame)),
    );
  if (waste !== undefined) for (const { path } of wastePlaces(waste)) paths.push(path.map(keyFrame));
  if (workingset !== undefined)
    for (const { path } of workingSetPlaces(workingset, "path").places)
      paths.push(path.filter(({ isWord }) => isWord !== true).map(keyFrame));
  if (objects !== undefined) for (const { path } of objectPlaces(objects)) paths.push(path.map(keyFrame));
  return paths;
}
