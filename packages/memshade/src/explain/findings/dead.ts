import { formatBytes, formatCount, formatPercent, plural } from "../../profile/model/format.ts";
import type { WasteBlocks, WasteStore } from "../../profile/model/waste.ts";
import { isCollected } from "../analyses/collected.ts";
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
import { partnerInWords, partnerText, shareInWords, whereOf } from "./waste/waste-words.ts";

/** Stores that are overwritten before anything reads them. */
export interface DeadFinding extends Found<"dead", "waste"> {
  /** Part of all bytes that the place stores, 0…1. */
  readonly share: number;
}

/** Zeros of calloc that are overwritten before anything reads them. */
export interface ClearFinding extends Found<"clear", "waste"> {
  /** Of all bytes that the place clears, 0…1. */
  readonly share: number;
}

export const dead: FindingKind<DeadFinding> = {
  kind: "dead",
  meaning:
    "Stored bytes that are overwritten before anything reads them. (Bytes that nobody had read when their block or frame ended are dead too, and told apart: they are the price of having fields.)",
  advice: "Leave the store out, or move it to the paths on which the value is read.",
  more: "tools/waste.md#what-the-words-mean",
  sources: ["waste"],
  waste: {
    ofStore: overwritten,
    isOfCode: true,
    part: (bytes, { moved }) => bytes / moved,
    facts: ({ share }) => ({ share }),
    says: deadInWords,
    advice: deadAdvice,
    rows: ["stores"],
  },
  leastPart: LEAST_COMMON_PART,
  sentence: () => ({ before: "stored by", after: "are never read" }),
  whole: OF_MOVED,
  weight: "dead",
  treeWeights: ["dead"],
};

export const clear: FindingKind<ClearFinding> = {
  kind: "clear",
  meaning: "Memory that is cleared and filled before anybody reads it, or cleared where it was clear.",
  advice: "Leave the clear out.",
  more: "tools/waste.md#reports",
  sources: ["waste"],
  waste: {
    part: (bytes, { moved }) => bytes / moved,
    facts: ({ share }) => ({ share }),
    // A collector's objects are cleared whatever the program asks for.
    isReported: ({ heap }) => heap === undefined || !isCollected(heap),
    says: (found) =>
      `${formatBytes(found.bytes)} of zeros from ${whereOf(found)} are overwritten before anything reads them: ${shareInWords(found)} of what its ${plural(found.operations, "call")} clear${found.operations === 1 ? "s" : ""}.`,
    advice: ({ share }) =>
      share > 0.995
        ? "Ask for memory that is not cleared (malloc instead of calloc): the program fills it anyway."
        : "Ask for memory that is not cleared (malloc instead of calloc), and clear what is not filled.",
    rows: ["blocks", "stores"],
    storesOfBlocks: "calloc",
  },
  leastPart: LEAST_COMMON_PART,
  sentence: () => ({ before: "of zeros by", after: "are never read" }),
  whole: OF_MOVED,
  weight: "dead",
  treeWeights: ["dead"],
};

/** One search for both: a store is a clear of calloc or another one. Those that are harmless as a rule are summed up. */
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
  else if (store.class === "host") fold("results of host calls that nobody looks at", bytes);
  else if (isSpill(store, by.partner)) fold("local variables in memory, overwritten where they are", bytes);
  else return [{ ...shape, kind: dead.kind, bytes, share, ...by }];
  return [];
}

/** Calls of calloc are known by the calls that led to them, where a library or a layer on the allocator asked. */
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
  return `${formatBytes(bytes)} stored by ${whereOf(found)} are overwritten before anything reads them${by}: ${shareInWords(found)} of what its ${stores}.`;
}

function deadAdvice(found: WasteFinding): string {
  const killer = partnerText(found);
  const isConstructor = /(?:^|::)([\w$]+)::\1$/.test(bareName(found.ips[0]?.function ?? ""));
  const isClear =
    isConstructor || found.class === "fill" || /memset|bzero|clear|zero/i.test(found.ips[0]?.function ?? "");
  const killed = (found.partner?.bytes ?? 0) / found.bytes;
  if (isClear && killer !== undefined && !found.isOwn && found.share * killed > 0.9) {
    const [ip] = found.ips;
    const around = [ip, ...(ip?.inlined ?? [])].map((frame) => bareName(frame?.function ?? ""));
    if (around.some((name) => /^std::vector::/.test(name)))
      return `Reserve the room and append instead of clearing it first: ${killer} fills the memory anyway.`;
    return `Drop the ${isConstructor ? "initialization" : "clear"}: ${killer} fills the memory anyway.`;
  }
  if (found.repeatsItself || found.also?.kind === silent.kind)
    return "Do this once, and again only when what it is made of has changed.";
  if (isClear && !isConstructor)
    return "Drop the clear if all of it is filled afterwards, or clear what is left over only.";
  if (found.class === "copy") return "Copy only what is read, or hand on a pointer instead of a copy.";
  if (found.isOwn || (killer === undefined && found.isInLoop))
    return "Keep the value in a local variable and store it once, at the end.";
  return dead.advice;
}
