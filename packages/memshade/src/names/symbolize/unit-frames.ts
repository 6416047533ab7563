import {
  Die,
  dw,
  handsOutMemory,
  type LinePlace,
  type LineTable,
  lineTableOf,
  NO_SUBROUTINE,
  type PathStyle,
  SubroutineIndex,
  type Unit,
} from "../../code/dwarf/index.ts";
import { FormatError } from "../../ground/bytes/errors.ts";
import type { StaticVariable } from "../../profile/model/statics.ts";
import type { GrowingFrame } from "./frame.ts";
import { type DataDeclaration, type LocalVariable, localVariables, UnitVariables } from "./variables.ts";

export type FunctionNames = "linkage" | "short" | "none";

export interface FrameStyle {
  readonly functions: FunctionNames;
  readonly paths: PathStyle;
  readonly skipLineZero: boolean;
  /** True if declarations of functions are wanted. */
  readonly starts: boolean;
}

interface Declaration {
  readonly name: string | undefined;
  readonly startFile: string | undefined;
  readonly startLine: number;
}

const LINKAGE_NAMES = [dw.DW_AT_MIPS_linkage_name, dw.DW_AT_linkage_name];
const NOTHING: Declaration = { name: undefined, startFile: undefined, startLine: 0 };

export class UnitFrames {
  readonly unit: Unit;
  readonly #style: FrameStyle;
  /** Declarations by offset of the entry in `.debug_info` that has or refers to it. */
  readonly #declarations = new Map<number, Declaration>();
  /** Results of `handsOutMemory`, by offset of the function's entry, or of its origin. */
  readonly #allocators = new Map<number, boolean>();
  readonly #lineTables = new Map<Unit, LineTable | undefined>();
  /** Unit with the functions: the split one, once it was provided. */
  #described: Unit;
  readonly #paths = new Map<number, string | undefined>();
  #index: SubroutineIndex | undefined;
  #variables: UnitVariables | undefined;

  constructor(unit: Unit, style: FrameStyle) {
    this.unit = unit;
    this.#described = unit;
    this.#style = style;
  }

  get lineTable(): LineTable | undefined {
    return this.#lineTableOf(this.unit);
  }

  useSplitUnit(split: Unit): void {
    split.skeleton = this.unit;
    this.#described = split;
    this.#forgetEntries();
  }

  /**
   * Frames, innermost first; empty if neither functions nor lines are known.
   *
   * @param section section of the address, in a relocatable object
   */
  at(address: number, section?: number): GrowingFrame[] {
    const { skipLineZero } = this.#style;
    const place = this.lineTable?.find(address, { section, skipLineZero });
    const index = this.#subroutines;
    const file = place && this.#path(place.file);
    // A row whose file is not in the table is ignored, as in llvm-symbolizer.
    const row = file === undefined ? undefined : place;
    let subroutine = index.innermostAt(address);
    const frames: GrowingFrame[] = [];
    if (subroutine === NO_SUBROUTINE) {
      if (row !== undefined) frames.push(this.#frame(NOTHING, undefined, file, row, false));
      return frames;
    }
    for (let callee = NO_SUBROUTINE; subroutine !== NO_SUBROUTINE; ) {
      const caller = index.callerOf(subroutine);
      const declaration = this.#declaration(index, subroutine);
      const start = index.startOf(subroutine);
      const isInlined = caller !== NO_SUBROUTINE;
      if (callee === NO_SUBROUTINE) frames.push(this.#frame(declaration, start, file, row, isInlined));
      else {
        const { file: calledFrom, ...place } = index.callOf(callee);
        const frame = this.#frame(declaration, start, this.#path(calledFrom), undefined, isInlined);
        frames.push(Object.assign(frame, place));
      }
      if (this.#handsOutMemory(index, subroutine, isInlined)) frames.at(-1)!.handsOutMemory = true;
      callee = subroutine;
      subroutine = caller;
    }
    return frames;
  }

  #frame(
    { name, startFile, startLine }: Declaration,
    startAddress: number | undefined,
    file: string | undefined,
    place: (Omit<LinePlace, "file"> & { readonly approximate?: boolean }) | undefined,
    inlined: boolean,
  ): GrowingFrame {
    return {
      linkageName: name,
      function: name,
      file,
      line: place === undefined ? 0 : place.line,
      column: place === undefined ? 0 : place.column,
      discriminator: place === undefined ? 0 : place.discriminator,
      startFile,
      startLine,
      startAddress,
      inlined,
      approximate: place?.approximate,
    };
  }

  #path(file: number): string | undefined {
    let path = this.#paths.get(file);
    if (path === undefined && !this.#paths.has(file)) {
      path = this.lineTable?.path(file, this.#style.paths, this.unit.attributes.compilationDirectory);
      this.#paths.set(file, path);
    }
    return path;
  }

  #lineTableOf(unit: Unit): LineTable | undefined {
    if (!this.#lineTables.has(unit)) this.#lineTables.set(unit, lineTableOf(unit));
    return this.#lineTables.get(unit);
  }

  variablesAt(address: number): LocalVariable[] {
    return localVariables(this.#subroutines, address, (file, unit) => this.#absolutePath(file, unit));
  }

  declarationOfData(address: number): DataDeclaration | undefined {
    this.#variables ??= new UnitVariables(this.#described);
    return this.#variables.find(address, (file, unit) => this.#absolutePath(file, unit));
  }

  dataVariables(): Generator<StaticVariable> {
    this.#variables ??= new UnitVariables(this.#described);
    return this.#variables.describeAll((file, unit) => this.#absolutePath(file, unit));
  }

  #absolutePath(file: number, from: Unit): string | undefined {
    const unit = from.skeleton ?? from;
    return this.#lineTableOf(unit)?.path(file, "absolute", unit.attributes.compilationDirectory);
  }

  /** Drops decoded data, which is decoded again on demand. */
  forget(): void {
    this.#lineTables.clear();
    this.#paths.clear();
    this.#forgetEntries();
  }

  #forgetEntries(): void {
    this.#index = undefined;
    this.#declarations.clear();
    this.#allocators.clear();
    this.#variables = undefined;
  }

  /** Approximate memory of decoded data; everything is decoded at the first address. */
  get sizeBytes(): number {
    return (this.#lineTables.get(this.unit)?.rowCount ?? 0) * 12 + (this.#index?.length ?? 0) * 64;
  }

  get #subroutines(): SubroutineIndex {
    this.#index ??= new SubroutineIndex(this.#described);
    return this.#index;
  }

  /** Returns the name and declaration of a subroutine. Inlined instances have those of their origin. */
  #declaration(index: SubroutineIndex, subroutine: number): Declaration {
    const { unit } = index;
    const origin = index.originOf(subroutine);
    const key = origin === 0 ? index.offsetOf(subroutine) : unit.header.offset + origin;
    let declaration = this.#declarations.get(key);
    if (declaration === undefined) {
      declaration = this.#readDeclaration(unit, index.offsetOf(subroutine));
      this.#declarations.set(key, declaration);
    }
    return declaration;
  }

  #handsOutMemory(index: SubroutineIndex, subroutine: number, isInlined: boolean): boolean {
    const { unit } = index;
    const origin = isInlined ? index.originOf(subroutine) : 0;
    // An origin in another file has no usable offset.
    const key = origin === 0 ? index.offsetOf(subroutine) : unit.header.offset + origin;
    let isAllocator = this.#allocators.get(key);
    if (isAllocator === undefined) {
      isAllocator = false;
      try {
        isAllocator = handsOutMemory(new Die(unit, index.offsetOf(subroutine)), isInlined);
      } catch (error) {
        if (!(error instanceof FormatError)) throw error;
        unit.file.problems.push(error);
      }
      this.#allocators.set(key, isAllocator);
    }
    return isAllocator;
  }

  #readDeclaration(unit: Unit, offset: number): Declaration {
    try {
      const die = new Die(unit, offset);
      if (!this.#style.starts) return { ...NOTHING, name: this.#name(die) };
      return {
        name: this.#name(die),
        startFile: this.#startFile(die),
        startLine: die.findInherited([dw.DW_AT_decl_line])?.value.value ?? 0,
      };
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      unit.file.problems.push(error);
      return NOTHING;
    }
  }

  #name(die: Die): string | undefined {
    switch (this.#style.functions) {
      case "none":
        return undefined;
      case "short":
        return die.inheritedText([dw.DW_AT_name]);
      case "linkage":
        return die.inheritedText(LINKAGE_NAMES) ?? die.inheritedText([dw.DW_AT_name]);
    }
  }

  #startFile(die: Die): string | undefined {
    const found = die.findInherited([dw.DW_AT_decl_file]);
    if (found === undefined) return undefined;
    // llvm-symbolizer finds no file by a number in the abbreviation; results must be the same.
    if (found.value.form === dw.DW_FORM_implicit_const) return undefined;
    // The entry may come from another unit, with files of its own. Split units use those of their skeleton.
    const unit = found.die.unit.skeleton ?? found.die.unit;
    if (unit === this.unit) return this.#path(found.value.value);
    const { compilationDirectory } = unit.attributes;
    return this.#lineTableOf(unit)?.path(found.value.value, this.#style.paths, compilationDirectory);
  }
}
