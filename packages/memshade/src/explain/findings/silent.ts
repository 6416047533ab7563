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

/** Stores of the value that is already there. */
export interface SilentFinding extends Found<"silent", "waste"> {
  /** Silent part of all stores of the code location, 0…1. */
  readonly share: number;
}

export const silent: FindingKind<SilentFinding> = {
  kind: "silent",
  meaning: "A store of the value that is already there, in every byte.",
  advice: "Store only when the value has changed.",
  more: "tools/waste.md#what-the-words-mean",
  sources: ["waste"],
  waste: {
    ofStore: silentStores,
    isOfCode: true,
    part: (bytes, { moved }) => bytes / moved,
    facts: ({ share }) => ({ share }),
    inWords: (found) => {
      const zeros = found.clearsCleared ? ", zeros over memory that is zero from the start" : "";
      const write = operationsInWords(found, "store", "write");
      return `${write} what is there already${repeatedBy(found, "store", "stored there")}${zeros}.`;
    },
    advice: ({ clearsCleared, repeatsItself }) =>
      clearsCleared
        ? "Remove the zeroing: the system has zeroed this memory, and nothing was stored since."
        : repeatsItself
          ? "Store the result once, and again only after its input has changed."
          : silent.advice,
    rows: ["stores"],
  },
  leastPart: LEAST_COMMON_PART,
  sentence: () => ({
    before: "stored by",
    after: "repeat the value that is already there",
    shortAfter: "change nothing",
  }),
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
