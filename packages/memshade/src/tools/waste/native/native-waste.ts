import type { FilePlan, NativeTool, PlannedFile } from "../../../native/native-tool.ts";
import { ARENA, SHADOW, SHADOW_BITS, SLOTS_END, TABLES_END } from "./layout.ts";
import { WastePlan } from "./plan-waste.ts";
import { keepPlace, takePlace } from "./site-places.ts";
import { writeNotes } from "./site-notes.ts";

/** Of all code that is inserted; another number for each change. */
const KEY = "2";

/** What tells dead and silent stores of native programs. */
export function nativeWaste(): NativeTool {
  return {
    name: "waste",
    key: KEY,
    plan: () => [],
    planFile,
    shadows: [
      { address: ARENA, bytes: TABLES_END - ARENA },
      { address: SHADOW, bytes: 2 ** SHADOW_BITS },
    ],
    slowPaths: 0,
  };
}

/** Slots take less than the code does that they are for. */
function planFile({ key, bytes, folder }: PlannedFile): FilePlan {
  const place = takePlace(folder, key, bytes) ?? { from: SLOTS_END, to: SLOTS_END };
  const waste = new WastePlan(place);
  return {
    plan: waste.plan,
    notes: () => {
      keepPlace(folder, place, waste.sites.to);
      return writeNotes(waste.sites);
    },
  };
}
