import { framesOfSampleStack, type SampleFrame, type SampleProfile } from "../../model/sample-profile.ts";
import { exactAmount } from "../amounts.ts";
import { jsonArray, jsonObject } from "../json-pieces.ts";

/** The one version that readers take. */
const DHAT_FILE_VERSION = 2;

/** One value per sample: what each amount of a program point is, by its name in the file. */
export interface DhatColumns {
  /** Bytes and blocks in total. */
  readonly tb: readonly number[];
  readonly tbk: readonly number[];
  /** Absent where nobody followed lives: all of them or none. */
  readonly lives?: DhatLives | undefined;
  /** Bytes read from the blocks and written to them; absent where that was not told apart. */
  readonly accesses?: DhatAccesses | undefined;
}

export interface DhatAccesses {
  readonly rb: readonly number[];
  readonly wb: readonly number[];
}

export interface DhatLives {
  /** Sum of lifetimes. */
  readonly tl: readonly number[];
  /** Most bytes and blocks at a time. */
  readonly mb: readonly number[];
  readonly mbk: readonly number[];
  /** At the moment when all points together had most. */
  readonly gb: readonly number[];
  readonly gbk: readonly number[];
  /** At the end. */
  readonly eb: readonly number[];
  readonly ebk: readonly number[];
}

export interface DhatHeader {
  /** What was profiled, shown at the top; some readers take "heap" alone. */
  readonly mode: string;
  /** Sentences that say what the numbers mean: no reader shows them. */
  readonly notes: readonly string[];
  /** What was done with the bytes, as in "Allocated at {". */
  readonly verb: string;
  readonly command: string;
  /** Names of a byte, of bytes, and of what the number of blocks counts. */
  readonly units: { readonly byte: string; readonly bytes: string; readonly blocks: string };
  /** The clock: what it counts, a million of that, and its readings. */
  readonly time: {
    readonly unit: string;
    readonly million: string;
    readonly end: number;
    /** When all points together had most. */
    readonly peak: number;
    /** Mean lifetimes up to here are short. */
    readonly short: number;
  };
}

/**
 * A DHAT file, version 2, without accesses per offset. Samples of equal frames are one point, since readers refuse two.
 *
 * @throws UserError if a sum is negative or above 2^53
 */
export function* writeDhat(
  profile: SampleProfile,
  { mode, verb, command, units, time, notes }: DhatHeader,
  columns: DhatColumns,
): Generator<string> {
  const { texts, points } = pointsOf(profile, columns);
  yield* jsonObject({
    dhatFileVersion: DHAT_FILE_VERSION,
    mode,
    verb,
    bklt: columns.lives !== undefined,
    bkacc: columns.accesses !== undefined,
    bu: units.byte,
    bsu: units.bytes,
    bksu: units.blocks,
    tu: time.unit,
    Mtu: time.million,
    ...(columns.lives && { tuth: time.short }),
    cmd: command,
    pid: 0,
    te: exactAmount(time.end, "te"),
    ...(columns.lives && { tg: exactAmount(time.peak, "tg") }),
    notes,
    pps: jsonArray(points),
    ftbl: jsonArray(texts),
  });
  yield "\n";
}

/** A row of `pps`. */
interface Point extends Amounts {
  fs: readonly number[];
}

type Amounts = { tb: number; tbk: number } & { [Name in keyof DhatLives | keyof DhatAccesses]?: number };

/** The rows of `pps`, and the texts of their frames. */
function pointsOf(profile: SampleProfile, { tb, tbk, lives, accesses }: DhatColumns) {
  const texts = ["[root]"];
  const textIndex = new Map<string, number>();
  const indexOf = profile.frames.map((frame) => {
    const text = textOf(frame);
    const known = textIndex.get(text);
    if (known !== undefined) return known;
    textIndex.set(text, texts.length);
    return texts.push(text) - 1;
  });
  const columns = Object.entries({ tb, tbk, ...lives, ...accesses });
  const points = new Map<string, Point>();
  for (let row = 0; row < profile.samples.length; row++) {
    const fs = framesOfSampleStack(profile, profile.samples.stack[row]!).map((frame) => indexOf[frame]!);
    const amounts = Object.fromEntries(columns.map(([name, column]) => [name, column[row]!]));
    const known = points.get(fs.join());
    points.set(fs.join(), { ...together(amounts as Amounts, known), fs });
  }
  for (const { fs: _, ...amounts } of points.values())
    for (const [name, value] of Object.entries(amounts)) exactAmount(value, name);
  return { texts, points: points.values() };
}

/** Sums; most at a time is no sum, but at the peak and at the end all of a point were there together. */
function together(one: Amounts, other: Amounts | undefined): Amounts {
  if (other === undefined) return one;
  const sum = (name: keyof Amounts) => (one[name] ?? 0) + (other[name] ?? 0);
  const accesses = one.rb === undefined ? {} : { rb: sum("rb"), wb: sum("wb") };
  const total = { tb: sum("tb"), tbk: sum("tbk"), ...accesses };
  if (one.tl === undefined) return total;
  const most = (name: "mb" | "mbk") => Math.max(one[name] ?? 0, other[name] ?? 0);
  const [gb, gbk, eb, ebk] = [sum("gb"), sum("gbk"), sum("eb"), sum("ebk")];
  return {
    ...total,
    tl: sum("tl"),
    gb,
    gbk,
    eb,
    ebk,
    mb: Math.max(most("mb"), gb, eb),
    mbk: Math.max(most("mbk"), gbk, ebk),
  };
}

/** The shape that readers take apart: `0x1a2: parse (src/parse.c:88:5)`. */
function textOf({ function: name, address = 0, file, line, column }: SampleFrame): string {
  const place = [file, line || undefined, line ? column || undefined : undefined].filter(
    (part) => part !== undefined,
  );
  const where = file === undefined ? "" : ` (${place.join(":")})`;
  return `0x${address.toString(16).toUpperCase()}: ${name}${where}`;
}
