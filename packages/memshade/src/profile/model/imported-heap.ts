import { FormatError } from "../../ground/bytes/errors.ts";
import { counted, groupDigits } from "./counted.ts";
import {
  type HeapProfile,
  type ProfileModule,
  type ResolvedFrame,
  SITE_FIELDS,
  type SiteColumns,
  type SiteField,
} from "./heap-profile.ts";
import { HeapProfileBuilder } from "./heap-profile-builder.ts";
import type { Mib } from "./mib.ts";
import { MIB_FIELDS, zeroMib } from "./mib-fields.ts";
import { type Clock, emptySite, REACH_FIELDS, type RunEnd, type RunSite } from "./run.ts";

export interface ImportedBlocks {
  /** Number of blocks; undefined if the tool recorded only bytes. */
  readonly blocks: number | undefined;
  readonly bytes: number;
}

/** Figures of one call path in another tool's file. All paths of a profile have the same members. */
export interface ImportedContext {
  readonly frames: readonly ResolvedFrame[];
  readonly allocated?: ImportedBlocks | undefined;
  readonly sizes?: { readonly least: number; readonly most: number } | undefined;
  /** Sum over all blocks, in units of the profile's clock. */
  readonly totalLifetime?: number | undefined;
  readonly peak?: ImportedBlocks | undefined;
  readonly live?: ImportedBlocks | undefined;
  readonly temporary?: number | undefined;
  /** Bytes read from the blocks, and written to them. */
  readonly accessed?: { readonly read: number; readonly written: number } | undefined;
}

/** Mapped part of an object in the recorded process. */
export interface MappedPart {
  readonly path: string;
  readonly buildId: string;
  readonly start: bigint;
  /** Offset of the mapped part in the object's file. */
  readonly fileOffset: bigint;
}

/**
 * Resolves an address of the process to frames, innermost first; undefined if nothing but the address is known. Frames
 * have no module: the caller adds it.
 */
export type PlaceNames = (part: MappedPart, address: bigint) => readonly ResolvedFrame[] | undefined;

export interface ImportedHeap {
  readonly contexts: readonly ImportedContext[];
  readonly modules?: readonly ProfileModule[] | undefined;
  readonly program?: string | undefined;
  readonly command?: readonly string[] | undefined;
  readonly clock: Clock;
  /** Peak of the whole heap; by default the sum of the contexts' figures. */
  readonly peak?: ImportedBlocks | undefined;
  readonly end?: RunEnd | undefined;
  /** True if the recorded reads include those of the host or the system. */
  readonly readsAreKnown?: boolean | undefined;
  readonly format: string;
  readonly version: number;
  readonly notTracked: readonly string[];
}

/** Bound of the block count of a context. Larger counts are split into several contexts, up to `MOST_PARTS` in all. */
const MOST_BLOCKS = 2 ** 32 - 1;
const MOST_PARTS = 1 << 16;
/** Bound on the frames of a path, above any tool's; each frame of a path becomes a row. */
export const MOST_FRAMES = 1 << 12;

/**
 * Bound on the frames per byte of a file. Tools keep about 64 frames per path and use a dozen bytes for a path, so they
 * reach one frame per one or two bytes.
 */
const MOST_FRAMES_PER_BYTE = 16;
const ALWAYS_ALLOWED = 1 << 20;

/**
 * Checks the size of paths in formats that share path parts: a small file could claim more frames than a machine can
 * hold.
 *
 * @param frames total frames of all paths
 * @throws FormatError if a file of this size cannot have that many frames
 */
export function assertHolds(frames: number, bytes: number, construct: string): void {
  if (frames > ALWAYS_ALLOWED + MOST_FRAMES_PER_BYTE * bytes)
    throw new FormatError(
      "unsupported",
      0,
      construct,
      `its call paths have ${groupDigits(frames)} frames, more than a file of ${groupDigits(bytes)} bytes is made for`,
    );
}

/** Builds the tables of another tool's profile. Data that the tool did not record is unknown, never 0. */
export function importedHeapProfile(heap: ImportedHeap): HeapProfile {
  const { contexts } = heap;
  const has = (key: keyof ImportedContext) => contexts.some((context) => context[key] !== undefined);
  const hasPart = (key: "allocated" | "peak" | "live", quantity: keyof ImportedBlocks) =>
    contexts.some((context) => context[key]?.[quantity] !== undefined);
  const sum = (key: "allocated" | "peak" | "live", quantity: keyof ImportedBlocks) =>
    hasPart(key, quantity)
      ? contexts.reduce((total, context) => total + (context[key]?.[quantity] ?? 0), 0)
      : undefined;
  const [allocations, allocatedBytes] = [sum("allocated", "blocks"), sum("allocated", "bytes")];
  const [liveBlocks, liveBytes] = [sum("live", "blocks"), sum("live", "bytes")];
  const description = {
    program: heap.program,
    command: heap.command,
    end: heap.end,
    clock: heap.clock,
    knownHost: heap.readsAreKnown,
    granuleBytes: 8,
    rawVersion: heap.version,
    importedFrom: heap.format,
    totals: {
      allocations,
      allocatedBytes,
      frees: allocations === undefined || liveBlocks === undefined ? undefined : allocations - liveBlocks,
      peakBytes: heap.peak?.bytes ?? sum("peak", "bytes"),
      peakBlocks: heap.peak?.blocks ?? sum("peak", "blocks"),
      liveBytes,
      liveBlocks,
    },
    unknownFields: MIB_FIELDS.map(({ name }) => name).filter(
      (name) => !KNOWN[name]?.some(has) || (name === "allocCount" && !hasPart("allocated", "blocks")),
    ),
    unknownSiteFields: SITE_FIELDS.filter((field) => {
      const source = KNOWN_BESIDES[field];
      return source === undefined || !hasPart(...source);
    }),
    notTracked: [...heap.notTracked, ...cutPaths(contexts)],
  };
  const builder = new HeapProfileBuilder(description, heap.modules ?? []);
  const rows: ImportedContext[] = [];
  assertFew(contexts);
  for (const context of contexts)
    for (const part of partsOf(context)) {
      builder.addContext(
        BigInt(rows.length + 1),
        part.frames.slice(0, MOST_FRAMES),
        mibOf(part),
        siteOf(part),
      );
      rows.push(part);
    }
  const profile = builder.build();
  const { site } = profile.contexts;
  if (!has("accessed") || site === undefined) return profile;
  return { ...profile, contexts: { ...profile.contexts, site: withAccesses(site, rows) } };
}

/** Context members that make a MIB field known, by field. */
const KNOWN: { readonly [Field in keyof Mib]?: readonly (keyof ImportedContext)[] } = {
  allocCount: ["allocated"],
  totalSize: ["allocated"],
  minSize: ["sizes"],
  maxSize: ["sizes"],
  totalLifetime: ["totalLifetime"],
};

const KNOWN_BESIDES: {
  readonly [Field in SiteField]?: readonly ["peak" | "live", keyof ImportedBlocks];
} = {
  liveBytes: ["live", "bytes"],
  liveBlocks: ["live", "blocks"],
  peakBytes: ["peak", "bytes"],
  peakBlocks: ["peak", "blocks"],
};

/** Returns a sentence if call paths are deeper than the kept part. */
function cutPaths(contexts: readonly ImportedContext[]): string[] {
  const cut = contexts.filter(({ frames }) => frames.length > MOST_FRAMES).length;
  if (cut === 0) return [];
  return [
    `${counted(cut, "call path has", "call paths have")} more than ${MOST_FRAMES} frames: the outer ones are left out.`,
  ];
}

function partCount({ allocated }: ImportedContext): number {
  return Math.max(1, Math.ceil((allocated?.blocks ?? 0) / MOST_BLOCKS));
}

function assertFew(contexts: readonly ImportedContext[]): void {
  const more = contexts.reduce((sum, context) => sum + partCount(context) - 1, 0);
  const blocks = contexts.reduce((sum, { allocated }) => sum + (allocated?.blocks ?? 0), 0);
  if (more >= MOST_PARTS)
    throw new FormatError("unsupported", 0, "call path", `${blocks} blocks are too many`);
}

function partsOf(context: ImportedContext): ImportedContext[] {
  const parts = partCount(context);
  if (parts === 1) return [context];
  const blocks = context.allocated?.blocks ?? 0;
  const rest = blocks - (parts - 1) * MOST_BLOCKS;
  const none = { blocks: 0, bytes: 0 };
  return Array.from({ length: parts }, (_, part) =>
    part === 0
      ? { ...context, allocated: { ...context.allocated!, blocks: rest } }
      : {
          frames: context.frames,
          sizes: context.sizes,
          allocated: { blocks: MOST_BLOCKS, bytes: 0 },
          peak: context.peak && none,
          live: context.live && none,
          accessed: context.accessed && { read: 0, written: 0 },
        },
  );
}

function mibOf({ allocated, sizes, totalLifetime }: ImportedContext): Mib {
  return {
    ...zeroMib(),
    allocCount: allocated?.blocks ?? 0,
    totalSize: BigInt(allocated?.bytes ?? 0),
    minSize: sizes?.least ?? 0,
    maxSize: sizes?.most ?? 0,
    totalLifetime: BigInt(totalLifetime ?? 0),
  };
}

const NOTHING = Object.fromEntries(REACH_FIELDS.map((field) => [field, 0]));

function siteOf({ live, peak, temporary }: ImportedContext): RunSite {
  return {
    ...NOTHING,
    ...emptySite("0"),
    liveBytes: live?.bytes ?? 0,
    liveBlocks: live?.blocks ?? 0,
    peakBytes: peak?.bytes ?? 0,
    peakBlocks: peak?.blocks ?? 0,
    temporary,
  };
}

function withAccesses(site: SiteColumns, rows: readonly ImportedContext[]): SiteColumns {
  return {
    ...site,
    readBytes: Float64Array.from(rows, ({ accessed }) => accessed?.read ?? 0),
    writtenBytes: Float64Array.from(rows, ({ accessed }) => accessed?.written ?? 0),
  };
}
