import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { openObject } from "../../packages/memshade/src/code/objects/index.ts";
import {
  ADDRESS_ONLY,
  decode,
  IMPLICIT,
  INSTRUCTION_POINTER,
  Instruction,
  NO_REGISTER,
  READ,
  SEGMENT,
  WRITE,
} from "../../packages/memshade/src/code/x64/decode/index.ts";

/** A line of /proc/PID/maps. `kind`: kind of memory. */
export interface Mapping {
  start: bigint;
  end: bigint;
  offset: number;
  path: string;
  kind: "heap" | "mapped" | "stack" | "file" | "other";
}

/** Number of accesses by code, by memory, and by the reason for which counters miss them, if any. */
export interface Accesses {
  where: "loader" | "code";
  kind: Mapping["kind"];
  cause: string;
  count: number;
}

const WORDS = 17;
const [RBX, RSI, RDI] = [3, 6, 7];
const STEPS_AT_ONCE = 1 << 14;
const MASK = (1n << 64n) - 1n;
const LONGEST = 15;

export function readMappings(text: string): Mapping[] {
  return [...text.matchAll(/^([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ \d+ *(.*)$/gm)].map(
    ([, start, end, , offset, path]) => {
      const kind =
        path === "[heap]" ? "heap" : path === "[stack]" ? "stack" : path === "" ? "mapped" : "file";
      const isOurs = BigInt(`0x${start}`) < 1n << 32n && path === "";
      const one = {
        start: BigInt(`0x${start}`),
        end: BigInt(`0x${end}`),
        offset: Number.parseInt(offset, 16),
        path,
      };
      return { ...one, kind: isOurs || path.startsWith("[v") ? "other" : kind };
    },
  );
}

/** A decoded instruction, and the function that computes its address. */
export interface Known {
  where: Accesses["where"];
  base: number;
  index: number;
  scale: bigint;
  displacement: bigint;
  /** accesses by the operand, and of memory that rsi and rdi point to; bytes of each */
  named: number;
  bytes: number;
  strings: readonly number[];
  repeated: boolean;
  isStub: boolean;
  cause: string;
}

/** An executed instruction, and the memory that it accessed. */
export interface Step {
  rip: bigint;
  /** Value of a general register before the instruction. */
  register: (number: number) => bigint;
  /** `isAgain`: a further iteration of the same repeated instruction. */
  accesses: readonly { address: bigint; bytes: number; count: number; isAgain: boolean }[];
  /** Undefined if the instruction accesses no memory. */
  code: Known | undefined;
}

/** Decodes the output of `trace-steps`, step by step. Each step is valid only until the next one. */
export function* tracedSteps(path: string, mappings: readonly Mapping[]): Generator<Step> {
  const known = new Map<bigint, Known | undefined>();
  const code = new Map<string, Uint8Array>();
  const file = openSync(path, "r");
  const words = new BigUint64Array(STEPS_AT_ONCE * WORDS);
  let last = 0n;
  for (let bytes = readSync(file, words); bytes > 0; bytes = readSync(file, words))
    for (let at = 0; at + WORDS <= bytes / 8; at += WORDS) {
      const rip = words[at];
      if (!known.has(rip)) known.set(rip, decodeAt(rip, mappingOf(mappings, rip), code));
      const one = known.get(rip);
      const isAgain = rip === last && one?.repeated === true;
      last = rip;
      const register = (number: number) => (number === NO_REGISTER ? 0n : words[at + 1 + number]);
      const accesses: Step["accesses"][number][] = [];
      if (one !== undefined && one.named > 0) {
        const address = (register(one.base) + register(one.index) * one.scale + one.displacement) & MASK;
        accesses.push({ address, bytes: one.bytes, count: one.named, isAgain: false });
      }
      for (const number of one?.strings ?? [])
        accesses.push({ address: register(number), bytes: one!.bytes, count: 1, isAgain });
      yield { rip, register, accesses, code: one };
    }
  closeSync(file);
}

function mappingOf(mappings: readonly Mapping[], address: bigint): Mapping | undefined {
  return mappings.find(({ start, end }) => address >= start && address < end);
}

/** Sums up the output of `trace-steps`. */
export function tracedAccesses(
  path: string,
  mappings: readonly Mapping[],
): { steps: number; accesses: Accesses[] } {
  const sums = new Map<string, Accesses>();
  let steps = 0;
  const granules: bigint[] = [];
  for (const { accesses, code } of tracedSteps(path, mappings)) {
    steps++;
    accesses.forEach(({ address, count, isAgain }, i) => {
      // String instructions count one access per 8 bytes.
      const isSame = isAgain && granules[i] === address >> 3n;
      granules[i] = address >> 3n;
      if (isSame) return;
      const { where, cause } = code!;
      const kind = mappingOf(mappings, address)?.kind ?? "other";
      const key = `${where} ${kind} ${cause}`;
      const sum = sums.get(key) ?? { where, kind, cause, count: 0 };
      sum.count += count;
      sums.set(key, sum);
    });
  }
  return { steps, accesses: [...sums.values()] };
}

function decodeAt(
  rip: bigint,
  mapping: Mapping | undefined,
  code: Map<string, Uint8Array>,
): Known | undefined {
  if (mapping === undefined || !mapping.path.startsWith("/")) return undefined;
  const bytes = code.get(mapping.path) ?? readFileSync(mapping.path);
  code.set(mapping.path, bytes);
  const at = Number(rip - mapping.start) + mapping.offset;
  const one = new Instruction();
  decode(bytes.subarray(at, at + LONGEST), 0, one);
  const isNamed = one.access !== 0 && (one.access & ADDRESS_ONLY) === 0 && one.segment === SEGMENT.none;
  const both = (one.access & READ ? 1 : 0) + (one.access & WRITE ? 1 : 0);
  const isStatic =
    isNamed && one.index === NO_REGISTER && (one.base === NO_REGISTER || one.base === INSTRUCTION_POINTER);
  const isRelative = one.base === INSTRUCTION_POINTER;
  const strings: Record<number, readonly number[]> = {
    [IMPLICIT.movs]: [RSI, RDI],
    [IMPLICIT.cmps]: [RSI, RDI],
    [IMPLICIT.stos]: [RDI],
    [IMPLICIT.scas]: [RDI],
    [IMPLICIT.lods]: [RSI],
    [IMPLICIT.xlat]: [RBX],
  };
  const reached = strings[one.implicit] ?? [];
  if (!isNamed && reached.length === 0) return undefined;
  const inStub = isStub(rip, mapping, bytes);
  return {
    where: /\/ld-linux/.test(mapping.path) ? "loader" : "code",
    base: isRelative ? NO_REGISTER : one.base,
    index: one.vectorIndex ? NO_REGISTER : one.index,
    scale: BigInt(one.scale),
    displacement: BigInt(one.displacement) + (isRelative ? rip + BigInt(one.length) : 0n),
    named: isNamed ? (one.locked ? 1 : both) : 0,
    bytes: reached.length > 0 ? ((one.opcode & 1) === 0 ? 1 : one.operandSize) : Math.max(one.size, 1),
    strings: reached,
    repeated: one.repeated,
    isStub: inStub,
    cause: one.vectorIndex ? "vector of indices" : isStatic ? "static data" : inStub ? "stub" : "",
  };
}

function isStub(rip: bigint, mapping: Mapping, bytes: Uint8Array): boolean {
  const offset = Number(rip - mapping.start) + mapping.offset;
  return openObject(bytes).sections.some(
    ({ name, offset: from, size }) => name.startsWith(".plt") && offset >= from && offset < from + size,
  );
}
