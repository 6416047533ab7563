import * as Op from "../../../../code/wasm/op.generated.ts";
import { FRAME_HEADER_BYTES } from "../../../contexts/layout.ts";
import type { Insertion } from "../../../rewrite/write/insertions.ts";
import type { FramedSites } from "../framed-sites.ts";
import type { SiteTable } from "../site-table.ts";
import type { PassTargets } from "./node-calls.ts";
import type { SiteRecords } from "./sites.ts";

/** Keys of sites: numbers or, with frames, offsets after the frame's header. */
export class SiteKeys {
  readonly #sites: SiteTable;
  readonly #framed: FramedSites | undefined;
  readonly #records: SiteRecords;
  readonly #firstId: number;

  /** `firstId`: id of the first store. */
  constructor(
    sites: SiteTable,
    framed: FramedSites | undefined,
    { records, firstId }: { records: SiteRecords; firstId: number },
  ) {
    this.#sites = sites;
    this.#framed = framed;
    this.#records = records;
    this.#firstId = firstId;
  }

  store(site: number): number {
    return this.#framed === undefined
      ? this.#sites.store[site] + this.#firstId - 1
      : FRAME_HEADER_BYTES + this.#framed.store[site];
  }

  load(site: number): number {
    return this.#framed === undefined ? this.#sites.load[site] : FRAME_HEADER_BYTES + this.#framed.load[site];
  }

  /** Returns the offset, from the base of counters, where the runs of the block that begins with a site are counted. */
  runsAt(site: number): number {
    const key = this.#sites.store[site] === 0 ? this.load(site) : this.store(site);
    return this.#records.runsAt(key, site);
  }
}

export interface StepParts {
  sites: SiteTable;
  keys: SiteKeys;
  targets: PassTargets;
  memory: number;
}

/** Insertions that push operands of the waste runtime, or set words of its memory. */
export class Steps {
  readonly #parts: StepParts;

  constructor(parts: StepParts) {
    this.#parts = parts;
  }

  /** Pushes the operands of a function from `AccessFunctions`. */
  accessOperands(displacement: number, site: number): Insertion {
    const { sites, keys, targets } = this.#parts;
    return {
      write(sink) {
        sink.i32(displacement);
        if (sites.store[site] === 0) sink.i32(0);
        else targets.records.pushId(sink, keys.store(site));
        if (sites.load[site] === 0) sink.i32(0);
        else targets.records.pushLoad(sink, keys.load(site));
      },
    };
  }

  /** Pushes the operands of a function from `SummaryFunctions`. */
  coldOperands(displacement: number, key: number): Insertion {
    const { records } = this.#parts.targets;
    return {
      write(sink) {
        sink.i32(displacement);
        records.pushCold(sink, key);
      },
    };
  }

  /**
   * Stores the key of a site in a word of the tool's memory. The key is a load's if `word` is the word for loads, else
   * a store's.
   */
  noteKey(word: number, key: number): Insertion {
    const { targets, memory } = this.#parts;
    return {
      write(sink) {
        sink.i32(0);
        if (word === targets.loadSite) targets.records.pushLoad(sink, key);
        else targets.records.pushId(sink, key);
        sink.access(Op.I32_STORE, 2, memory, word);
      },
    };
  }

  note(word: number, value: number): Insertion {
    const { memory } = this.#parts;
    return {
      write(sink) {
        sink.i32(0);
        sink.i32(value);
        sink.access(Op.I32_STORE, 2, memory, word);
      },
    };
  }

  keep(word: number, local: number): Insertion {
    const { memory } = this.#parts;
    return {
      write(sink) {
        sink.i32(0);
        sink.access(Op.I32_LOAD, 2, memory, word);
        sink.local(Op.LOCAL_SET, local);
      },
    };
  }

  putBack(word: number, local: number): Insertion {
    const { memory } = this.#parts;
    return {
      write(sink) {
        sink.i32(0);
        sink.local(Op.LOCAL_GET, local);
        sink.access(Op.I32_STORE, 2, memory, word);
      },
    };
  }
}
