import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readMappings, tracedSteps } from "../../../../../../bench/rewrite/traced-steps.ts";
import { RSP } from "../../../../src/code/x64/index.ts";

const TRACER = fileURLToPath(new URL("../../../../../../bench/rewrite/trace-steps.c", import.meta.url));
const RDI = 7;
const [RSI, RDX] = [6, 2];
const LINE_BYTES = 64;

/** Events of a program, in order. Lines and 16-byte parts are given by number. */
export type SteppedEvent =
  | { kind: "touch"; lines: readonly number[]; count: number; isOwn: boolean }
  | { kind: "begin"; first: number; last: number; owner: number }
  | { kind: "end"; first: number; last: number };

export function canStep(folder: string): boolean {
  const tracer = join(folder, "trace-steps");
  if (spawnSync("gcc", ["-O2", TRACER, "-o", tracer]).status !== 0) return false;
  return spawnSync(tracer, ["steps-from", "/dev/null", join(folder, "maps"), "/bin/true"]).status === 0;
}

/**
 * Single-steps `owners.c`; call `canStep` first.
 * @param program compiled with STEPPED
 * @returns its events from `main` on. Accesses are those that marks cover, without the function's own part of the stack
 */
export function steppedEvents(folder: string, program: string): SteppedEvent[] {
  const [out, maps] = [join(folder, "steps"), join(folder, "maps")];
  const { status } = spawnSync(join(folder, "trace-steps"), ["steps-from", out, maps, program]);
  if (status !== 0) throw new Error(`the stepped program has ended with ${status}`);
  const mappings = readMappings(readFileSync(maps, "utf8"));
  const own = mappings.filter(({ path }) => path === program);
  const symbols = spawnSync("nm", [program], { encoding: "utf8" }).stdout;
  const addressOf = (name: string): bigint => {
    const [, address] = new RegExp(`^([0-9a-f]+) \\w ${name}$`, "m").exec(symbols)!;
    return own[0].start + BigInt(`0x${address}`);
  };
  const [note, drop] = [addressOf("note"), addressOf("drop")];
  const events: SteppedEvent[] = [];
  const sizes = new Map<number, number>();
  const partsOf = (address: number, bytes: number) => ({
    first: Math.floor(address / 16),
    last: Math.floor((address + bytes - 1) / 16),
  });
  for (const { rip, register, accesses, code } of tracedSteps(out, mappings)) {
    if (rip === note || rip === drop) {
      const address = Number(register(RDI));
      if (rip === note) {
        const bytes = Number(register(RSI));
        sizes.set(address, bytes);
        events.push({ kind: "begin", ...partsOf(address, bytes), owner: Number(register(RDX)) });
      } else if (address !== 0) events.push({ kind: "end", ...partsOf(address, sizes.get(address)!) });
    }
    if (accesses.length === 0 || code!.where === "loader" || code!.isStub || code!.base === RSP.number)
      continue;
    const isOwn = own.some(({ start, end }) => rip >= start && rip < end);
    const lines = accesses.flatMap(({ address, bytes }) => {
      const first = Number(address / BigInt(LINE_BYTES));
      const last = Number((address + BigInt(bytes - 1)) / BigInt(LINE_BYTES));
      return first === last || bytes <= 8 ? [first] : [first, last];
    });
    const [{ count, isAgain }] = accesses;
    events.push({ kind: "touch", lines, count: isAgain ? 0 : count, isOwn });
  }
  return events;
}
