import type { WasteStore } from "../../profile/model/waste.ts";
import {
  type FindingKind,
  type Found,
  LEAST_COMMON_PART,
  OF_MOVED,
  type WasteSearch,
} from "./finding-kind.ts";
import { isSpill, storeShape, type WasteFinding } from "./waste/waste-finding.ts";
import { operationsInWords, repeatedBy } from "./waste/waste-words.ts";

/** Stores of what is there already. */
export interface SilentFinding extends Found<"silent", "waste"> {
  /** Of all stores of the place, 0…1. */
  readonly share: number;
}

export const silent: FindingKind<SilentFinding> = {
  kind: "silent",
  meaning:
    "A store of what is there already, in every byte; a load whose bytes were all read before and have not been stored since.",
  advice: "Compare before you store, or store only when the value was computed anew.",
  more: "tools/waste.md#what-the-words-mean",
  sources: ["waste"],
  waste: {
    ofStore: silentStores,
    isOfCode: true,
    part: (bytes, { moved }) => bytes / moved,
    facts: ({ share }) => ({ share }),
    says: (found) => {
      const zeros = found.clearsCleared ? ", zeros over memory that is zero from the start" : "";
      const write = operationsInWords(found, "store", "write");
      return `${write} what is there already${repeatedBy(found, "store", "stored there")}${zeros}.`;
    },
    advice: ({ clearsCleared, repeatsItself }) =>
      clearsCleared
        ? "Leave the clear out: nobody has stored there since the system cleared the memory."
        : repeatsItself
          ? "Do this once, and again only when what it is made of has changed."
          : silent.advice,
    rows: ["stores"],
  },
  leastPart: LEAST_COMMON_PART,
  sentence: () => ({ before: "stored by", after: "were there before" }),
  whole: OF_MOVED,
  weight: "silent",
  treeWeights: ["silent"],
};

function silentStores(store: WasteStore, index: number, { partners, fold }: WasteSearch): WasteFinding[] {
  const { nof_silent: wasted, nof_stores: stores, bytes_silent: bytes } = store;
  if (wasted === 0 || store.class === "atomic") return [];
  const repeated = partners.of("silent", index);
  if (isSpill(store, repeated.partner)) {
    fold("local variables in memory, stored again as they are", bytes);
    return [];
  }
  if (store.update === true) {
    fold("values that are computed anew and stay as they are", bytes);
    return [];
  }
  const shape = storeShape(store, index, partners);
  const clearsCleared = (store.silent_over_zero ?? 0) * 2 > stores;
  return [{ ...shape, kind: silent.kind, bytes, wasted, share: wasted / stores, ...repeated, clearsCleared }];
}
