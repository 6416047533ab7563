import { RED_ZONE_BYTES } from "../../../native/rewrite/insertion/red-zone.ts";
import { FLAGS, type Instruction } from "../../../x64/decode/index.ts";
import { GENERAL, place, RAX, RBP, RBX, RCX, RDI, RDX, type Register, RSI, RSP } from "../../../x64/index.ts";
import type { Snippet } from "./snippet.ts";

/** Registers in the order in which dead ones are taken: those that calls overwrite stand first. */
const SCRATCH = [RAX, RCX, RDX, RSI, RDI, ...GENERAL.slice(8, 12), RBX, RBP, ...GENERAL.slice(12)];

const PUSHED_BYTES = 8;

/** Two registers for a while: dead ones, or others that are on the stack meanwhile, as the flags are where somebody reads them. */
export class Borrowed {
  readonly first: Register;
  readonly second: Register;
  readonly #saved: Register[] = [];
  readonly #areFlagsSaved: boolean;

  /** @param wanted the first one, if it is dead; else one is that the instruction does not write */
  constructor(live: number, { reads, writes }: Pick<Instruction, "reads" | "writes">, wanted?: Register) {
    const isDead = ({ number }: Register) => ((live | reads) & (1 << number)) === 0;
    const lasting = SCRATCH.filter((one) => isDead(one) && (writes & (1 << one.number)) === 0);
    const known = wanted !== undefined && isDead(wanted) ? [wanted] : [];
    const dead = [...new Set([...known, ...lasting, ...SCRATCH.filter(isDead)])];
    const others = SCRATCH.filter(
      ({ number }) => !dead.includes(GENERAL[number]) && (reads & (1 << number)) === 0,
    );
    const two = [...dead, ...others];
    [this.first, this.second] = two;
    this.#saved = two.slice(0, 2).filter((one) => !dead.includes(one));
    this.#areFlagsSaved = (live & FLAGS) !== 0;
  }

  /** Whether the first one keeps what it has got. */
  get isFirstKept(): boolean {
    return !this.#saved.includes(this.first);
  }

  get isFree(): boolean {
    return this.#saved.length === 0 && !this.#areFlagsSaved;
  }

  /** How far below its place the stack pointer is meanwhile, bytes. */
  get shift(): number {
    if (this.isFree) return 0;
    return RED_ZONE_BYTES + PUSHED_BYTES * (this.#saved.length + (this.#areFlagsSaved ? 1 : 0));
  }

  begin(snippet: Snippet): void {
    if (this.isFree) return;
    skipRedZone(snippet);
    for (const register of this.#saved) snippet.put("push", 8, register);
    if (this.#areFlagsSaved) snippet.put("pushf", 8);
  }

  end(snippet: Snippet): void {
    if (this.isFree) return;
    if (this.#areFlagsSaved) snippet.put("popf", 8);
    for (const register of [...this.#saved].reverse()) snippet.put("pop", 8, register);
    snippet.put("lea", 8, RSP, place(RSP, RED_ZONE_BYTES));
  }
}

export function skipRedZone(snippet: Snippet): void {
  snippet.put("lea", 8, RSP, place(RSP, -RED_ZONE_BYTES));
}
