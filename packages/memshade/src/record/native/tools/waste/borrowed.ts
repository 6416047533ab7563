import { FLAGS, type Instruction } from "../../../../code/x64/decode/index.ts";
import {
  GENERAL,
  place,
  RAX,
  RBP,
  RBX,
  RCX,
  RDI,
  RDX,
  type Register,
  RSI,
  RSP,
} from "../../../../code/x64/index.ts";
import { RED_ZONE_BYTES } from "../../rewrite/insertion/red-zone.ts";
import type { Snippet } from "./snippet.ts";

/** Registers in the order in which dead ones are taken: those that calls overwrite stand first. */
const SCRATCH = [RAX, RCX, RDX, RSI, RDI, ...GENERAL.slice(8, 12), RBX, RBP, ...GENERAL.slice(12)];

const PUSHED_BYTES = 8;

/** What an access needs registers for. */
interface Needs {
  /** The first one, if it is dead; else one is that the instruction does not write. */
  wanted?: Register | undefined;
  /** How many there have to be. */
  needed: 1 | 2;
}

/** Registers for a while: dead ones, or others that are on the stack meanwhile, as the flags are where somebody reads them. */
export class Borrowed {
  readonly first: Register;
  /** One that is needed, or dead. */
  readonly second: Register | undefined;
  readonly #saved: Register[] = [];
  readonly #areFlagsSaved: boolean;

  constructor(
    live: number,
    { reads, writes }: Pick<Instruction, "reads" | "writes">,
    { wanted, needed }: Needs,
  ) {
    const taken = live | reads;
    const lasting = taken | writes;
    const isDead = ({ number }: Register) => (taken & (1 << number)) === 0;
    const isWanted = wanted !== undefined && isDead(wanted);
    const first = isWanted ? wanted : (freeOf(lasting) ?? freeOf(taken));
    const second = first === undefined ? undefined : (freeOf(lasting, first) ?? freeOf(taken, first));
    this.first = first ?? this.#save(reads);
    this.second = second ?? (needed === 2 ? this.#save(reads | (1 << this.first.number)) : undefined);
    this.#areFlagsSaved = (live & FLAGS) !== 0;
  }

  /** A register that is saved, so that it can be used. */
  #save(taken: number): Register {
    const register = freeOf(taken) as Register;
    this.#saved.push(register);
    return register;
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

/** The first register that is not in a mask, nor another one. */
function freeOf(taken: number, other?: Register): Register | undefined {
  return SCRATCH.find((one) => one !== other && (taken & (1 << one.number)) === 0);
}

export function skipRedZone(snippet: Snippet): void {
  snippet.put("lea", 8, RSP, place(RSP, -RED_ZONE_BYTES));
}
