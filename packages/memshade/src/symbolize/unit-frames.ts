import { FormatError } from "../bytes/errors.ts";
import {
  Die,
  dw,
  type LinePlace,
  type LineTable,
  lineTableOf,
  type PathStyle,
  SubroutineIndex,
  type Unit,
} from "../dwarf/index.ts";
import type { Frame } from "./frame.ts";

/** Which of a function's names is wanted. */
export type FunctionNames = "linkage" | "short" | "none";

export interface FrameStyle {
  readonly functions: FunctionNames;
  readonly paths: PathStyle;
  readonly skipLineZero: boolean;
}

interface Declaration {
  readonly name: string | undefined;
  readonly startFile: string | undefined;
  readonly startLine: number;
}

/** What is known of a subroutine, apart from the address that was asked for. */
interface Subroutine extends Declaration {
  readonly startAddress: number | undefined;
  readonly callFile: number;
  readonly callLine: number;
  readonly callColumn: number;
  readonly callDiscriminator: number;
}

const LINKAGE_NAMES = [dw.DW_AT_MIPS_linkage_name, dw.DW_AT_linkage_name];
/** With one of these, an entry does not have all from its origin. */
const OWN_DECLARATION = [
  ...LINKAGE_NAMES,
  dw.DW_AT_name,
  dw.DW_AT_decl_file,
  dw.DW_AT_decl_line,
  dw.DW_AT_specification,
  dw.DW_AT_signature,
];
const NOTHING: Subroutine = {
  name: undefined,
  startFile: undefined,
  startLine: 0,
  startAddress: undefined,
  callFile: 0,
  callLine: 0,
  callColumn: 0,
  callDiscriminator: 0,
};

function frameOf(
  { name, startFile, startLine, startAddress }: Subroutine,
  file: string | undefined,
  row: (LinePlace & { readonly approximate?: boolean }) | undefined,
  inlined: boolean,
): Frame {
  return {
    linkageName: name,
    function: name,
    file,
    line: row?.line ?? 0,
    column: row?.column ?? 0,
    discriminator: row?.discriminator ?? 0,
    startFile,
    startLine,
    startAddress,
    inlined,
    approximate: row?.approximate,
  };
}

/** The frame of the function that `callee` was inlined into. */
function callerOf(
  { name, startFile, startLine, startAddress }: Subroutine,
  file: string | undefined,
  callee: Subroutine,
  inlined: boolean,
): Frame {
  return {
    linkageName: name,
    function: name,
    file,
    line: callee.callLine,
    column: callee.callColumn,
    discriminator: callee.callDiscriminator,
    startFile,
    startLine,
    startAddress,
    inlined,
    approximate: undefined,
  };
}

/** Frames at the addresses of one compilation unit. */
export class UnitFrames {
  readonly unit: Unit;
  readonly #style: FrameStyle;
  readonly #subroutines = new Map<number, Subroutine>();
  readonly #declarations = new Map<number, Declaration>();
  readonly #lineTables = new Map<Unit, LineTable | undefined>();
  readonly #paths = new Map<number, string | undefined>();
  #index: SubroutineIndex | undefined;

  constructor(unit: Unit, style: FrameStyle) {
    this.unit = unit;
    this.#style = style;
  }

  /** The line table, if any address has been looked up. */
  get lineTable(): LineTable | undefined {
    return this.#lineTableOf(this.unit);
  }

  /** Looks for functions in the split unit from now on. */
  useSplitUnit(split: Unit): void {
    split.skeleton = this.unit;
    this.#index = new SubroutineIndex(split);
    this.#subroutines.clear();
    this.#declarations.clear();
  }

  /**
   * Frames innermost first; none where neither functions nor lines are known.
   *
   * @param section of a relocatable object, in which the address lies
   */
  at(address: number, section?: number): Frame[] {
    this.#index ??= new SubroutineIndex(this.unit);
    const chain = this.#index.chainAt(address);
    const place = this.lineTable?.find(address, { section, skipLineZero: this.#style.skipLineZero });
    const file = place && this.#path(place.file);
    // Like llvm-symbolizer: a row whose file is not in the table says nothing.
    const row = file === undefined ? undefined : place;
    if (chain.length === 0) return row === undefined ? [] : [frameOf(NOTHING, file, row, false)];
    const frames: Frame[] = [];
    let callee = NOTHING;
    for (let depth = 0; depth < chain.length; depth++) {
      const subroutine = this.#subroutine(this.#index, chain[depth]);
      const isInlined = depth < chain.length - 1;
      frames.push(
        depth === 0
          ? frameOf(subroutine, file, row, isInlined)
          : callerOf(subroutine, this.#path(callee.callFile), callee, isInlined),
      );
      callee = subroutine;
    }
    return frames;
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

  #subroutine(index: SubroutineIndex, subroutine: number): Subroutine {
    let known = this.#subroutines.get(subroutine);
    if (known === undefined) {
      known = this.#readSubroutine(new Die(index.unit, index.offsetOf(subroutine)));
      this.#subroutines.set(subroutine, known);
    }
    return known;
  }

  #readSubroutine(die: Die): Subroutine {
    try {
      const number = (attribute: number) => die.find(attribute)?.value ?? 0;
      return {
        ...this.#declarationOf(die),
        startAddress: die.address(dw.DW_AT_low_pc),
        callFile: number(dw.DW_AT_call_file),
        callLine: number(dw.DW_AT_call_line),
        callColumn: number(dw.DW_AT_call_column),
        callDiscriminator: number(dw.DW_AT_GNU_discriminator),
      };
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      die.unit.file.problems.push(error);
      return NOTHING;
    }
  }

  /** Name and declaration. Inlined instances have them from the function that they are copies of. */
  #declarationOf(die: Die): Declaration {
    const { attributes } = die.abbreviation;
    const hasOwn = OWN_DECLARATION.some((attribute) => attributes.includes(attribute));
    const origin = hasOwn ? undefined : die.reference(dw.DW_AT_abstract_origin);
    if (origin === undefined || origin.unit !== die.unit) return this.#readDeclaration(die);
    let known = this.#declarations.get(origin.offset);
    if (known === undefined) {
      known = this.#readDeclaration(die);
      this.#declarations.set(origin.offset, known);
    }
    return known;
  }

  #readDeclaration(die: Die): Declaration {
    return {
      name: this.#name(die),
      startFile: this.#startFile(die),
      startLine: die.findInherited([dw.DW_AT_decl_line])?.value.value ?? 0,
    };
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
    // llvm-symbolizer finds no file by a number that stands in the abbreviation; answers are to be the same.
    if (found.value.form === dw.DW_FORM_implicit_const) return undefined;
    // The entry may stem from another unit, with files of its own. Split units use those of their skeleton.
    const unit = found.die.unit.skeleton ?? found.die.unit;
    if (unit === this.unit) return this.#path(found.value.value);
    const { compilationDirectory } = unit.attributes;
    return this.#lineTableOf(unit)?.path(found.value.value, this.#style.paths, compilationDirectory);
  }
}
