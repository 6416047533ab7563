import { instantiateUnwindWasm, type UnwindWasm } from "../wasm-module.ts";
import type { Cie } from "./cie.ts";
import { DW_EH_PE } from "./constants.ts";
import { type FastReader, type FdeRows, type FdeSink, LAST_OFFSET, OFFSET_BIAS } from "./rows.ts";
import type { RuleSets } from "./rule-sets.ts";
import type { CfiSection } from "./section.ts";
import { setAfter } from "./set-changes.ts";

/**
 * Largest code alignment of the fast path. Larger ones do not occur, and with them an advance could exceed 32 bits.
 */
const MAX_CODE_ALIGNMENT = 255;

class BatchRows implements FdeRows {
  first = 0;
  count = 0;
  readonly deltas: Int32Array;
  readonly sets: Int32Array;

  constructor(deltas: Int32Array, sets: Int32Array) {
    this.deltas = deltas;
    this.sets = sets;
  }
}

class Views {
  readonly window: Uint8Array;
  readonly windowView: DataView;
  readonly cies: Int32Array;
  readonly starts: Int32Array;
  readonly sizes: Uint32Array;
  readonly firstRows: Int32Array;
  readonly rows: BatchRows;

  constructor(wasm: UnwindWasm) {
    const { buffer } = wasm.memory;
    const words = (start: WebAssembly.Global<"i32">, count: number) =>
      new Int32Array(buffer, start.value, count);
    this.window = new Uint8Array(buffer, wasm.WINDOW.value, wasm.WINDOW_BYTES.value);
    this.windowView = new DataView(buffer, wasm.WINDOW.value, wasm.WINDOW_BYTES.value);
    this.cies = words(wasm.CIES, 4 * wasm.CIE_SLOTS.value);
    this.starts = words(wasm.FDE_STARTS, wasm.MOST_FDES.value);
    this.sizes = new Uint32Array(buffer, wasm.FDE_SIZES.value, wasm.MOST_FDES.value);
    this.firstRows = words(wasm.FDE_ROWS, wasm.MOST_FDES.value + 1);
    const mostRows = wasm.MOST_ROWS.value;
    this.rows = new BatchRows(words(wasm.ROW_DELTAS, mostRows), words(wasm.ROW_SETS, mostRows));
  }
}

/**
 * Fast path for common FDEs, in WebAssembly. It needs no warm-up, and reads bytes several times as fast as
 * unoptimised JavaScript.
 *
 * Tables of transitions record the rule set that an instruction makes of another one. Instructions are few and
 * repeat, so almost every instruction of a large library is one table lookup. The effect of an instruction depends
 * on its CIE's data alignment and initial rules. CIEs that differ in these have separate tables.
 */
export class FastFdes implements FastReader {
  count = 0;
  readonly wasm: UnwindWasm;
  readonly #intoTable: boolean;
  readonly #inSlots: (Cie | undefined)[];
  /** Tables of transitions, by CIE properties that they depend on. */
  readonly #tables = new Map<string, number>();
  #views: Views;

  #section: CfiSection | undefined;
  #windowStart = 0;
  #windowEnd = 0;

  /**
   * @param reduced returns the part of a rule set that a table keeps; with it, rows go into a table instead of a
   * sink
   */
  constructor(rules: RuleSets, reduced?: (set: number) => number) {
    this.#intoTable = reduced !== undefined;
    const nextSet = (slot: number, set: number, code: number) =>
      setAfter(rules, this.#inSlots[slot]!, set >>> 0, code);
    this.wasm = instantiateUnwindWasm({ nextSet, reduced: reduced ?? (() => 0) });
    this.#inSlots = Array.from({ length: this.wasm.CIE_SLOTS.value });
    this.#views = new Views(this.wasm);
  }

  /** Views of the current memory, which moves when it grows. */
  get views(): Views {
    if (this.#views.window.length === 0) this.#views = new Views(this.wasm);
    return this.#views;
  }

  enter(section: CfiSection, base: number, code: { readonly start: number; readonly end: number }): boolean {
    if (this.#section === section) return false;
    this.#section = section;
    this.#windowEnd = 0;
    this.views.cies.fill(0);
    this.#inSlots.fill(undefined);
    const isDebugFrame = section.kind === "debug_frame";
    this.wasm.setSection(
      isDebugFrame ? 1 : 0,
      isDebugFrame ? -base - OFFSET_BIAS : section.address - base - OFFSET_BIAS + 8,
      code.start - OFFSET_BIAS,
      Math.min(code.end - OFFSET_BIAS, LAST_OFFSET),
      this.#intoTable ? 1 : 0,
    );
    return true;
  }

  addCie(offset: number, cie: Cie): void {
    const slot = ((offset + 1) >>> 2) & (this.#inSlots.length - 1);
    if (this.#inSlots[slot] === cie || offset > LAST_OFFSET || !isForFastPath(cie, this.#section?.kind))
      return;
    const key = `${cie.dataAlignment} ${cie.initialSet}`;
    const table = this.#tables.get(key) ?? this.#tables.size;
    const { TRANSITIONS, TRANSITION_BITS, TRANSITION_TABLES } = this.wasm;
    if (table >= TRANSITION_TABLES.value) return;
    this.#tables.set(key, table);
    this.#inSlots[slot] = cie;
    const transitions = TRANSITIONS.value + table * (8 << TRANSITION_BITS.value);
    this.views.cies.set([offset + 1, cie.codeAlignment, cie.initialSet, transitions], 4 * slot);
  }

  read(from: number, end: number, sink: FdeSink): number {
    let position = from;
    for (;;) {
      if (position < this.#windowStart || position >= this.#windowEnd) this.#moveWindow(position, end);
      const start = this.#windowStart;
      const next = start + this.wasm.readFdes(position - start, Math.min(end, this.#windowEnd) - start);
      if (next !== position) {
        this.#handOn(sink);
        position = next;
      } else if (position !== start && this.#windowEnd < end && !this.#isWhole(position))
        this.#moveWindow(position, end);
      else return position;
    }
  }

  #isWhole(position: number): boolean {
    const at = position - this.#windowStart;
    const available = this.#windowEnd - position - 4;
    return available >= 0 && this.views.windowView.getUint32(at, true) <= available;
  }

  #moveWindow(position: number, end: number): void {
    const { bytes } = this.#section!;
    this.#windowStart = position;
    const { window } = this.views;
    this.#windowEnd = Math.min(position + window.length, end);
    window.set(bytes.subarray(position, this.#windowEnd));
    this.wasm.setWindow(position);
  }

  #handOn(sink: FdeSink): void {
    const count = this.wasm.fdeCount.value;
    this.count += count;
    if (this.#intoTable) return;
    const { rows, starts, sizes, firstRows } = this.views;
    for (let fde = 0; fde < count; fde++) {
      rows.first = firstRows[fde];
      rows.count = firstRows[fde + 1] - rows.first;
      sink.addFde(starts[fde], sizes[fde], rows);
    }
  }
}

/** True if the FDEs of a CIE have the common header that the fast path reads. */
function isForFastPath(
  { pointerEncoding, addressSize, segmentSize, hasAugmentationData, codeAlignment }: Cie,
  kind: CfiSection["kind"] | undefined,
): boolean {
  const isFastHeader =
    kind === "eh_frame"
      ? pointerEncoding === (DW_EH_PE.pcrel | DW_EH_PE.sdata4) && hasAugmentationData
      : addressSize === 8 && !hasAugmentationData;
  return isFastHeader && segmentSize === 0 && codeAlignment > 0 && codeAlignment <= MAX_CODE_ALIGNMENT;
}
