import { bytesOfBase64 } from "../../../bytes/base64.ts";
import type { InstrumentedInfo } from "../../options.ts";
import { type WasteDescription, wasteDescription } from "../description.ts";
import { Control } from "../layout.ts";
import { wasteBytesTouched } from "../memory-plan.ts";
import { decodeSites, type SiteTable } from "../site-table.ts";
import {
  type FigureSources,
  figuresOf,
  type LoadFigures,
  loadFigures,
  type StoreFigures,
  storeFigures,
} from "./figures.ts";
import { type OpenLoop, readOpenLoops } from "./open-loops.ts";
import { FrameReader } from "./read-frames.ts";
import { type ObjectFigures, readObjects } from "./read-objects.ts";
import {
  type PairFigures,
  type ReallocationFigures,
  readPairs,
  readPlaces,
  readReallocations,
} from "./read-pairs.ts";
import { type PathBlocksFigures, readPathBlocks } from "./read-path-blocks.ts";
import { readBegun } from "./repeated-accesses.ts";
import { resetTables } from "./reset.ts";
import { pathKey, readSitePaths, type SiteInContext } from "./site-paths.ts";
import { controlWord, type WasteTables } from "./tables.ts";
import { readBytes, unreadBytes } from "./written-bytes.ts";

export interface WasteContents {
  stores: StoreFigures[];
  loads: LoadFigures[];
  pairs: PairFigures[];
  reallocations: ReallocationFigures[];
  objects: ObjectFigures[];
  /** In summary mode: blocks by the calls that ask for them. */
  blocks: PathBlocksFigures[];
  /** Loops that were cut short. */
  openLoops: OpenLoop[];
  outside: number;
  keysLost: number;
  /** Seldom used contexts that are left out, and the accesses that they had. */
  contextsLeft: number;
  accessesLeft: number;
  pairsLost: number;
  /** Shadow memory that was touched, bytes, at most. */
  shadowBytes: number;
  /** Whether the program's memory grew beyond what is followed. */
  grewBeyond: boolean;
  /** Bytes at which it was kept from growing; undefined: it did not get there. */
  heldAt: number | undefined;
  /** Requests for more memory than can be followed, which failed; undefined: none did. */
  refused: { times: number; pages: number; covered: number } | undefined;
}

/** Reads the waste tool's memory of one instance. */
export class WasteReader {
  readonly description: WasteDescription;
  readonly #tables: WasteTables;
  #sites: SiteTable | undefined;
  #frames: FrameReader | undefined;

  /** `further`: its further memories. */
  constructor(
    memory: WebAssembly.Memory,
    info: InstrumentedInfo,
    further: readonly WebAssembly.Memory[] = [],
  ) {
    const description = wasteDescription(info);
    if (description === undefined) throw new RangeError("the waste tool is not in this module");
    this.description = description;
    this.#tables = { view: new DataView(memory.buffer), further, description };
  }

  /** `exitVisible`: bytes that are unread now count as read by the host. */
  read(exitVisible: boolean): WasteContents {
    const tables = this.#tables;
    const sites = this.#siteTable();
    const { covered, limited, frames, updates = "" } = this.description;
    const framed = this.#frameReader()?.read(tables.view);
    const paths = framed ?? readSitePaths(tables, sites);
    // Only precise mode tells of pairs and objects.
    const isPrecise = this.description.engine === "full";
    const [storePaths, loadPaths] = [paths.stores, paths.loads].map((of) => pathsOf(isPrecise ? of : []));
    const places = readPlaces(tables);
    const sources: FigureSources = {
      tables,
      sites,
      frames: bytesOfBase64(frames),
      updates: bytesOfBase64(updates),
      unread: unreadBytes(tables),
      read: readBytes(tables),
      begun: readBegun(tables, sites),
      exitVisible,
    };
    const reached = controlWord(tables, Control.pages) * 65536;
    const times = controlWord(tables, Control.refused);
    return {
      stores: figuresOf(paths.stores, (one) => storeFigures(sources, one)),
      loads: figuresOf(paths.loads, (one) => loadFigures(sources, one)),
      pairs: readPairs(tables, storePaths, loadPaths, places),
      reallocations: readReallocations(tables, places),
      objects: readObjects(tables, places, { stores: storePaths, loads: loadPaths }, exitVisible),
      blocks: readPathBlocks(tables, exitVisible),
      openLoops: readOpenLoops(tables, sites),
      outside: controlWord(tables, Control.outside),
      keysLost: controlWord(tables, Control.keysLost) + (framed?.accessesLost ?? 0),
      contextsLeft: framed?.contextsLeft ?? 0,
      accessesLeft: framed?.accessesLeft ?? 0,
      pairsLost: controlWord(tables, Control.pairsLost),
      shadowBytes: Math.ceil(Math.min(reached, covered) * wasteBytesTouched(this.description)),
      grewBeyond: reached > covered,
      heldAt: limited && reached === covered ? covered : undefined,
      refused: times === 0 ? undefined : { times, pages: controlWord(tables, Control.asked), covered },
    };
  }

  /** Sets all counts to zero; bytes that are unread now belong to nobody. */
  reset(): void {
    resetTables(this.#tables);
    this.#frameReader()?.reset(this.#tables.view);
  }

  #siteTable(): SiteTable {
    this.#sites ??= decodeSites(bytesOfBase64(this.description.siteTable));
    return this.#sites;
  }

  #frameReader(): FrameReader | undefined {
    if (this.description.arena !== 0) this.#frames ??= new FrameReader(this.description, this.#siteTable());
    return this.#frames;
  }
}

function pathsOf(sites: readonly SiteInContext[]): Map<number, string> {
  return new Map(sites.map(({ key, path }) => [key, pathKey(path)]));
}
