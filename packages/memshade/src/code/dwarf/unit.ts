import { FormatError } from "../../ground/bytes/errors.ts";
import type { AbbreviationTable } from "./abbreviations.ts";
import * as dw from "./constants.ts";
import { Cursor } from "./cursor.ts";
import { Die, type FileOfEntries, type Unit, type UnitAttributes, type UnitBases } from "./die.ts";
import { type Contributions, UNIT_HEAD_BYTES, type UnitHeader } from "./unit-header.ts";

/** A unit of `.debug_info`. Its entries are decoded when they are asked for. */
export class LoadedUnit implements Unit {
  readonly file: FileOfEntries;
  readonly header: UnitHeader;
  readonly contributions: Contributions | undefined;
  skeleton: Unit | undefined;
  #abbreviations: AbbreviationTable | undefined;
  #bases: UnitBases | undefined;
  #attributes: UnitAttributes | undefined;
  #lowPc: number | undefined | null = null;
  #isLoaded = false;

  constructor(file: FileOfEntries, header: UnitHeader, contributions?: Contributions) {
    this.file = file;
    this.header = header;
    this.contributions = contributions;
  }

  get isSplit(): boolean {
    return this.file.isSplit;
  }

  get abbreviations(): AbbreviationTable {
    const offset = this.header.abbreviationOffset + (this.contributions?.abbreviations ?? 0);
    this.#abbreviations ??= this.file.abbreviationsAt(offset, this.header);
    return this.#abbreviations;
  }

  load(): void {
    if (this.#isLoaded) return;
    this.#isLoaded = true;
    this.file.info.load(this.header.offset, this.header.end);
  }

  fromOwnEntry<T>(read: (die: Die) => T): T {
    const head = this.header.offset + UNIT_HEAD_BYTES;
    if (!this.#isLoaded && head < this.header.end)
      try {
        return read(new Die(this, this.header.dieOffset, head));
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
      }
    return read(this.die);
  }

  get die(): Die {
    return this.dieAt(this.header.dieOffset);
  }

  dieAt(offset: number): Die {
    if (!(offset >= this.header.dieOffset && offset < this.header.end))
      throw new FormatError("malformed", offset, "reference", "it leads out of its unit");
    return new Die(this, offset);
  }

  get bases(): UnitBases {
    if (this.#bases === undefined) {
      const { version, offsetSize } = this.header;
      const wide = offsetSize === 8;
      this.#bases = {
        strings: (this.contributions?.stringOffsets ?? 0) + (version >= 5 ? (wide ? 16 : 8) : 0),
        addresses: version >= 5 ? (wide ? 16 : 8) : 0,
        rangeLists: (this.contributions?.rangeLists ?? 0) + (version >= 5 ? (wide ? 20 : 12) : 0),
      };
      if (!this.isSplit) this.#bases = this.#givenBases(this.#bases);
    }
    return this.#bases;
  }

  /** What the unit's own entry says; where that is damaged the usual, as whatever else it has may still be read. */
  #givenBases(usual: UnitBases): UnitBases {
    try {
      return this.fromOwnEntry((die) => {
        const given = (attribute: number) => die.find(attribute)?.value;
        return {
          strings: given(dw.DW_AT_str_offsets_base) ?? usual.strings,
          addresses: given(dw.DW_AT_addr_base) ?? given(dw.DW_AT_GNU_addr_base) ?? usual.addresses,
          rangeLists: given(dw.DW_AT_rnglists_base) ?? usual.rangeLists,
        };
      });
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      this.file.problems.push(error);
      return usual;
    }
  }

  get attributes(): UnitAttributes {
    if (this.#attributes === undefined) {
      const die = this.die;
      const idOfVersion4 = die.find(dw.DW_AT_GNU_dwo_id);
      this.#attributes = {
        lineOffset: die.find(dw.DW_AT_stmt_list)?.value,
        compilationDirectory: die.text(dw.DW_AT_comp_dir) ?? "",
        name: die.text(dw.DW_AT_name) ?? "",
        dwoName: die.text(dw.DW_AT_dwo_name) ?? die.text(dw.DW_AT_GNU_dwo_name),
        dwoId: this.header.id ?? (idOfVersion4 && die.big64(dw.DW_AT_GNU_dwo_id)),
      };
    }
    return this.#attributes;
  }

  get baseAddress(): number | undefined {
    if (this.skeleton !== undefined) return this.skeleton.baseAddress;
    if (this.#lowPc === null)
      this.#lowPc = this.fromOwnEntry(
        (die) => die.address(dw.DW_AT_low_pc) ?? die.address(dw.DW_AT_entry_pc),
      );
    return this.#lowPc;
  }

  get rangesBase(): number {
    return this.die.find(dw.DW_AT_GNU_ranges_base)?.value ?? 0;
  }

  addressAt(index: number): number | undefined {
    const owner = this.skeleton ?? this;
    const { addressSize } = this.header;
    const part = owner.file.part(".debug_addr");
    const at = owner.bases.addresses + index * addressSize;
    if (part === undefined || !(at >= 0 && at + addressSize <= part.bytes.length)) return undefined;
    part.load(at, at + addressSize);
    return new Cursor(part.bytes, at, ".debug_addr").unsigned(addressSize);
  }

  textAtIndex(index: number): string | undefined {
    const { offsetSize } = this.header;
    const part = this.file.part(".debug_str_offsets");
    const at = this.bases.strings + index * offsetSize;
    if (part === undefined || !(at >= 0 && at + offsetSize <= part.bytes.length)) return undefined;
    part.load(at, at + offsetSize);
    const offset = new Cursor(part.bytes, at, ".debug_str_offsets").unsigned(offsetSize);
    return this.file.stringAt(".debug_str", offset);
  }
}
