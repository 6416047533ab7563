import { FormatError } from "../../ground/bytes/errors.ts";
import { partitionPoint } from "../../ground/bytes/partition-point.ts";
import * as dw from "./constants.ts";
import type { Die, FileOfEntries, Unit } from "./die.ts";
import { type PackageIndex, readPackageIndex } from "./package-index.ts";
import { DwarfSections } from "./sections.ts";
import { LoadedUnit } from "./unit.ts";
import { isTypeUnit, readUnitHeader, UNIT_HEAD_BYTES } from "./unit-header.ts";

/** The debug information of one file: its sections, and the units of `.debug_info` and `.debug_types`. */
export class DwarfFile extends DwarfSections implements FileOfEntries {
  /** The file that several share (dwz), if it is there. */
  shared: DwarfFile | undefined;
  #units: readonly Unit[] | undefined;
  /** Those that were asked for, by offset. */
  readonly #compilationUnits = new Map<number, Unit>();
  #typeUnits: ReadonlyMap<bigint, Unit> | undefined;
  #packageIndex: PackageIndex | undefined | null = null;

  /** Compilation and skeleton units in the order of the section; whatever follows a damaged header is left out. */
  get units(): readonly Unit[] {
    this.#units ??= this.#readUnits();
    return this.#units;
  }

  #readUnits(): Unit[] {
    const units: Unit[] = [];
    const { packageIndex } = this;
    const { bytes: info } = this.info;
    for (let offset = 0; offset < info.length; ) {
      this.info.load(offset, offset + UNIT_HEAD_BYTES);
      try {
        const header = readUnitHeader(info, offset);
        const known = this.#compilationUnits.get(offset);
        units.push(known ?? new LoadedUnit(this, header, packageIndex?.contributionsAt(offset)));
        offset = header.end;
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
        this.problems.push(error);
        const next = skipUnit(info, offset);
        if (next === undefined) break;
        offset = next;
      }
    }
    return units;
  }

  /** The unit that an offset of `.debug_info` lies in. */
  unitAround(offset: number): Unit | undefined {
    const { units } = this;
    const after = partitionPoint(0, units.length, (index) => units[index].header.offset <= offset);
    const found = units[after - 1];
    return found !== undefined && offset < found.header.end ? found : undefined;
  }

  /** The unit that starts at an offset, unless it is one of types. */
  compilationUnitAt(offset: number): Unit | undefined {
    const known = this.#compilationUnits.get(offset);
    if (known !== undefined) return known;
    const around = this.unitAround(offset);
    const found = around?.header.offset === offset && !isTypeUnit(around) ? around : undefined;
    if (found !== undefined) this.#compilationUnits.set(offset, found);
    return found;
  }

  /** The split unit with an id. */
  splitUnit(id: bigint): Unit | undefined {
    const offset = this.packageIndex?.offsetOf(id);
    if (offset !== undefined) return this.compilationUnitAt(offset);
    return this.units.find((unit) => {
      try {
        return !isTypeUnit(unit) && unit.attributes.dwoId === id;
      } catch (error) {
        if (error instanceof FormatError) return false;
        throw error;
      }
    });
  }

  get packageIndex(): PackageIndex | undefined {
    if (this.#packageIndex === null) {
      const index = this.isSplit ? this.source.section(".debug_cu_index") : undefined;
      this.#packageIndex = undefined;
      try {
        if (index !== undefined && index.length > 0) this.#packageIndex = readPackageIndex(index);
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
        this.problems.push(error);
      }
    }
    return this.#packageIndex;
  }

  /** The entry of a type by its signature. Units of `.debug_types` (version 4) are not among them. */
  typeUnitDie(signature: bigint | undefined): Die | undefined {
    if (signature === undefined) return undefined;
    this.#typeUnits ??= new Map(
      this.units.filter(isTypeUnit).map((unit): [bigint, Unit] => [unit.header.id ?? 0n, unit]),
    );
    const unit = this.#typeUnits.get(signature);
    if (unit === undefined) return undefined;
    for (const child of unit.die.children()) if (child.tag !== dw.DW_TAG_namespace) return child;
    return undefined;
  }
}

/** Where the unit behind one of an unknown kind starts, if its length can be believed. */
function skipUnit(info: Uint8Array, offset: number): number | undefined {
  if (offset + 4 > info.length) return undefined;
  const view = new DataView(info.buffer, info.byteOffset, info.byteLength);
  const length = view.getUint32(offset, true);
  const next = offset + 4 + length;
  return length >= 2 && length < 0xfffffff0 && next < info.length ? next : undefined;
}
