import * as Op from "../../../../code/wasm/op.generated.ts";
import type { Insertion } from "../../../rewrite/write/insertions.ts";
import type { SiteTable } from "../site-table.ts";
import type { PassTargets } from "./pass-parts.ts";
import type { SiteKeys } from "./sites/site-keys.ts";

/** What steps refer to. */
export interface StepParts {
  sites: SiteTable;
  keys: SiteKeys;
  targets: PassTargets;
  /** The waste tool's memory. */
  memory: number;
}

/** Operands of what the waste pass calls, and words of its memory that it sets before. */
export class Steps {
  readonly #parts: StepParts;

  constructor(parts: StepParts) {
    this.#parts = parts;
  }

  /** Operands of the function that does the access. */
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

  /** Operands of the function that does the access as if it were inline. */
  coldOperands(displacement: number, key: number): Insertion {
    const { records } = this.#parts.targets;
    return {
      write(sink) {
        sink.i32(displacement);
        records.pushCold(sink, key);
      },
    };
  }

  /** Puts the key of a store or, where `word` is the one for loads, of a load into a word of the tool's memory. */
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

  /** Puts a number into a word of the tool's memory. */
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

  /** Keeps a word of the tool's memory in a local. */
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

  /** Puts it back. */
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
