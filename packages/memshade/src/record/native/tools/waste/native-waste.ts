import type { FilePlan, NativeTool, NativeToolOptions, PlannedFile } from "../../native-tool.ts";
import { ARENA, SHADOW, SHADOW_BITS, TABLES_END } from "./layout.ts";
import { WastePlan } from "./plan-waste.ts";
import { notedPlace } from "./site-notes.ts";
import { keepPlace, type SitePlace, settlePlace, takePlace } from "./site-places.ts";

/** Of all code that is inserted; another number for each change. */
const KEY = "11";

/** What tells dead and silent stores of native programs. */
export function nativeWaste(options: NativeToolOptions = {}): NativeTool {
  const { includeStack = false, compat, contexts = false } = options;
  return {
    name: "waste",
    key: `${KEY}${includeStack ? "s" : ""}${compat === undefined ? "" : "c"}${contexts ? "x" : ""}`,
    plan: () => [],
    planFile: (file) => planFile(file, options),
    shadows: [
      { address: ARENA, bytes: TABLES_END - ARENA },
      { address: SHADOW, bytes: 2 ** SHADOW_BITS },
    ],
    slowPaths: contexts ? 1 : 0,
    isWaste: compat === undefined ? 1 : 2,
    // Slots have ids, which are given out once.
    keptBytes: TABLES_END - ARENA,
  };
}

function planFile({ key, folder }: PlannedFile, options: NativeToolOptions): FilePlan {
  let place: SitePlace | undefined;
  const waste = new WastePlan((bytes) => {
    place = takePlace(folder, key, bytes);
    return place;
  }, options);
  return {
    plan: waste.plan,
    notes: () => {
      if (place !== undefined) keepPlace(folder, place, waste.end);
      return waste.notes();
    },
    kept: (notes) => {
      if (place === undefined) return;
      if (!settlePlace(folder, key, notedPlace(notes)))
        throw new Error("it took so long that its tables are another program's; try again");
    },
  };
}
