import { getU64, viewOf } from "../../../ground/bytes/numbers.ts";
import type { ObjectFile, ObjectSection } from "../types.ts";
import { readString } from "./symbols.ts";

const RELA_BYTES = 24;
const SYMBOL_BYTES = 24;
/** Opcodes of `call` and `jmp` with a relative target. */
const CALL = 0xe8;
const JUMP = 0xe9;

/** Relocations of slots that stubs jump through: `R_*_GLOB_DAT` and `R_*_JUMP_SLOT`. */
const SLOT_RELOCATIONS: Readonly<Record<string, readonly number[]>> = {
  x86_64: [6, 7],
  aarch64: [1025, 1026],
};

export interface PltStub {
  readonly target: string;
  /** Start of the stub (SVMA). */
  readonly address: number;
}

/**
 * Stubs through which an ELF object (x86-64, AArch64) calls functions of other objects. Stubs have no symbols. The
 * code of a stub gives the slot with the function's address, and a relocation of the slot names the function.
 */
export class PltStubs {
  readonly #object: ObjectFile;
  #targets: Map<number, string> | undefined;

  constructor(object: ObjectFile) {
    this.#object = object;
  }

  at(address: number): PltStub | undefined {
    const section = this.#object.sections.find(
      (candidate) =>
        candidate.name.startsWith(".plt") &&
        address >= candidate.address &&
        address - candidate.address < candidate.size,
    );
    if (section === undefined) return undefined;
    const found = this.#object.architecture === "x86_64" ? this.#x86(section, address) : this.#arm(address);
    const target = found && this.nameAt(found.slot);
    return target === undefined ? undefined : { target, address: found!.start };
  }

  /** Reads a stub with `jmp *slot(%rip)`, possibly after `endbr64` and `bnd`, or with `mov slot(%rip), %r11`. */
  #x86(section: ObjectSection, address: number): { start: number; slot: number } | undefined {
    // Stubs bound at load time are half as long, unless they begin with `endbr64`.
    const first = this.#object.bytesAt(section.address, 1);
    const stubBytes = section.name === ".plt.got" && first[0] === 0xff ? 8 : 16;
    const start = address - ((address - section.address) % stubBytes);
    const code = this.#object.bytesAt(start, stubBytes);
    // The stub at the head of the table pushes before it jumps.
    if (code[0] === 0xff && code[1] === 0x35) return undefined;
    for (let at = 0; at + 6 <= code.length; at++) {
      if (code[at] !== 0xff || code[at + 1] !== 0x25) continue;
      return { start, slot: start + at + 6 + viewOf(code).getInt32(at + 2, true) };
    }
    return this.#retpoline(start, JUMP) ?? this.#retpoline(start, CALL) ?? this.#retpoline(start - 16, CALL);
  }

  /** Reads a stub of `-z retpolineplt`: an entry that jumps, or one twice as long that calls. */
  #retpoline(start: number, leaves: number): { start: number; slot: number } | undefined {
    const code = this.#object.bytesAt(start, 8);
    const isEntry = code[0] === 0x4c && code[1] === 0x8b && code[2] === 0x1d && code[7] === leaves;
    return isEntry ? { start, slot: start + 7 + viewOf(code).getInt32(3, true) } : undefined;
  }

  /** Reads a stub with `adrp x16, page; ldr x17, [x16, #offset]`, possibly after a landing pad. */
  #arm(address: number): { start: number; slot: number } | undefined {
    const aligned = address - (address % 4);
    for (let start = aligned; start >= 0 && aligned - start <= 20; start -= 4) {
      const code = this.#object.bytesAt(start, 8);
      if (code.length < 8) return undefined;
      const view = viewOf(code);
      const [adrp, ldr] = [view.getUint32(0, true), view.getUint32(4, true)];
      if ((adrp & 0x9f00_001f) >>> 0 !== 0x9000_0010) continue;
      if ((ldr & 0xffc0_03ff) >>> 0 !== 0xf940_0211) return undefined;
      const pages = (((adrp >> 5) & 0x7ffff) << 13) >> 11;
      const page = start - (start % 4096) + (pages | ((adrp >>> 29) & 3)) * 4096;
      const before = this.#object.bytesAt(start - 4, 4);
      const hasPad = before.length === 4 && viewOf(before).getUint32(0, true) === 0xd503_245f;
      return { start: hasPad ? start - 4 : start, slot: page + ((ldr >>> 10) & 0xfff) * 8 };
    }
    return undefined;
  }

  /** Returns the name of the function whose address the dynamic linker stores in a slot (SVMA). */
  nameAt(slot: number): string | undefined {
    this.#targets ??= this.#readTargets();
    return this.#targets.get(slot);
  }

  #readTargets(): Map<number, string> {
    const targets = new Map<number, string>();
    const object = this.#object;
    const symbols = object.section(".dynsym");
    const strings = object.section(".dynstr");
    const types = SLOT_RELOCATIONS[object.architecture];
    if (symbols === undefined || strings === undefined || types === undefined) return targets;
    for (const name of [".rela.dyn", ".rela.plt"]) {
      const relocations = object.section(name);
      if (relocations === undefined) continue;
      const view = viewOf(relocations);
      for (let at = 0; at + RELA_BYTES <= relocations.length; at += RELA_BYTES) {
        if (!types.includes(view.getUint32(at + 8, true))) continue;
        const symbol = view.getUint32(at + 12, true) * SYMBOL_BYTES;
        if (symbol === 0 || symbol + SYMBOL_BYTES > symbols.length) continue;
        const target = readString(strings, viewOf(symbols).getUint32(symbol, true));
        const slot = getU64(view, at);
        if (target) targets.set(slot, target);
      }
    }
    return targets;
  }
}
