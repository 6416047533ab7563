import { isCollected } from "../../profile/model/collected-objects.ts";
import { formatBytes, formatCount, formatPercent, plural } from "../../profile/model/format.ts";
import type { WasteBlocks, WasteStore } from "../../profile/model/waste.ts";
import { bareName } from "../analyses/frames/place-names.ts";
import {
  type FindingKind,
  type Found,
  LEAST_COMMON_PART,
  OF_MOVED,
  type WasteSearch,
} from "./finding-kind.ts";
import { silent } from "./silent.ts";
import { isSpill, MOST_SHARE, storeShape, type WasteFinding } from "./waste/waste-finding.ts";
import { locationText, partnerInWords, partnerText, shareInWords } from "./waste/waste-words.ts";

/** Stores that are overwritten before their bytes are read. */
export interface DeadFinding extends Found<"dead", "waste"> {
  /** Dead part of all bytes that the code location stores, 0…1. */
  readonly share: number;
}

/** Zeros of calloc that are overwritten before they are read. */
export interface ClearFinding extends Found<"clear", "waste"> {
  /** Overwritten part of all bytes that the code location clears, 0…1. */
  readonly share: number;
}

export const dead: FindingKind<DeadFinding> = {
  kind: "dead",
  meaning:
    "Stored bytes that are overwritten before the program reads them. Bytes that were still unread when their block or stack frame ended are counted separately: unused fields cause most of them.",
  advice: "Remove the store, or move it to the paths that read the value.",
  more: "tools/waste.md#what-the-words-mean",
  sources: ["waste"],
  waste: {
    ofStore: overwritten,
    isOfCode: true,
    part: (bytes, { moved }) => bytes / moved,
    facts: ({ share }) => ({ share }),
    inWords: deadInWords,
    advice: deadAdvice,
    rows: ["stores"],
  },
  leastPart: LEAST_COMMON_PART,
  sentence: () => ({
    before: "stored by",
    after: "are overwritten before any read",
    shortAfter: "are never read",
  }),
  whole: OF_MOVED,
  weight: "dead",
  treeWeights: ["dead"],
};

export const clear: FindingKind<ClearFinding> = {
  kind: "clear",
  meaning:
    "Memory that is zeroed and then overwritten before the program reads it, or zeroed where it was zero already.",
  advice: "Remove the zeroing: allocate with malloc instead of calloc.",
  more: "tools/waste.md#reports",
  sources: ["waste"],
  waste: {
    part: (bytes, { moved }) => bytes / moved,
    facts: ({ share }) => ({ share }),
    // A collector's objects are cleared whatever the program requests.
    isReported: ({ heap }) => heap === undefined || !isCollected(heap),
    inWords: (found) =>
      `${formatBytes(found.bytes)} of zeros from ${locationText(found)} are overwritten before anything reads them: ${shareInWords(found)} of what its ${plural(found.operations, "call")} clear${found.operations === 1 ? "s" : ""}.`,
    advice: ({ share }) =>
      share > 0.995
        ? "Allocate with malloc instead of calloc: the program fills the whole block anyway."
        : "Allocate with malloc instead of calloc, and zero only the bytes that are not filled.",
    rows: ["blocks", "stores"],
    storesOfBlocks: "calloc",
  },
  leastPart: LEAST_COMMON_PART,
  sentence: () => ({
    before: "of zeros by",
    after: "are overwritten before any read",
    shortAfter: "are never read",
  }),
  whole: OF_MOVED,
  weight: "dead",
  treeWeights: ["dead"],
};

/**
 * Searches both kinds: a store is either a clear by calloc or another store. Usually harmless stores are only
 * summed up.
 */
function overwritten(
  store: WasteStore,
  index: number,
  { file, partners, fold }: WasteSearch,
): WasteFinding[] {
  const { dead_overwritten: bytes, bytes_written: written } = store;
  if (bytes <= 0) return [];
  const share = bytes / written;
  const by = partners.of("overwritten", index);
  const shape = storeShape(store, index, partners);
  if (store.class === "calloc") {
    if (share >= MOST_SHARE)
      return [atCaller({ ...shape, kind: clear.kind, bytes, share, ...by }, file.blocks ?? [])];
    fold("zeros of calloc that the program overwrites in part", bytes);
  } else if (store.class === "atomic") fold("atomic variables", bytes);
  else if (store.class === "host") fold("results of host calls that the program does not read", bytes);
  else if (isSpill(store, by.partner)) fold("local variables in memory, overwritten where they are", bytes);
  else return [{ ...shape, kind: dead.kind, bytes, share, ...by }];
  return [];
}

/**
 * Attributes a calloc to the call path of its largest request, if a library or an allocator layer calls it.
 */
function atCaller(found: WasteFinding, blocks: readonly WasteBlocks[]): WasteFinding {
  if (found.ips.length !== 1) return found;
  const address = found.ips[0]!.address;
  const asking = blocks.filter(({ ips }) => ips[0]!.address === address);
  const [most] = asking.sort((a, b) => b.bytes - a.bytes);
  return most === undefined ? found : { ...found, ips: most.ips };
}

function deadInWords(found: WasteFinding): string {
  const { bytes, operations, partner, bytesEach } = found;
  const by =
    partner === undefined
      ? ""
      : `, ${formatPercent(partner.bytes, bytes)} of them by ${partnerInWords(found, "store")}`;
  const size = bytesEach === undefined || bytesEach <= 16 ? "" : ` of ${formatCount(bytesEach)} bytes`;
  const stores = operations === 1 ? `store${size} writes` : `${formatCount(operations)} stores${size} write`;
  return `${formatBytes(bytes)} stored by ${locationText(found)} are overwritten before anything reads them${by}: ${shareInWords(found)} of what its ${stores}.`;
}

function deadAdvice(found: WasteFinding): string {
  const killer = partnerText(found);
  const isConstructor = /(?:^|::)([\w$]+)::\1$/.test(bareName(found.ips[0]?.function ?? ""));
  const isClear =
    isConstructor || found.class === "fill" || /memset|bzero|clear|zero/i.test(found.ips[0]?.function ?? "");
  const killed = (found.partner?.bytes ?? 0) / found.bytes;
  if (isClear && killer !== undefined && !found.isOwn && found.share * killed > 0.9) {
    const [ip] = found.ips;
    const functionNames = [ip, ...(ip?.inlined ?? [])].map((frame) => bareName(frame?.function ?? ""));
    if (functionNames.some((name) => /^std::vector::/.test(name)))
      return `Use reserve and append instead of resize: ${killer} fills the memory anyway.`;
    return `Remove the ${isConstructor ? "initialization" : "zeroing"}: ${killer} fills the memory anyway.`;
  }
  if (found.repeatsItself || found.also?.kind === silent.kind)
    return "Store the result once, and again only after its input has changed.";
  if (isClear && !isConstructor)
    return "Remove the zeroing if all bytes are filled afterwards, or zero only the rest.";
  if (found.class === "copy")
    return "Remove the copy or initialization, copy only the bytes that are read, or pass a pointer.";
  if (found.isOwn || (killer === undefined && found.isInLoop))
    return "Each pass overwrites the result of the last one: store it once, after the loop.";
  return dead.advice;
}
