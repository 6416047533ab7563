import type { LineHeader } from "./line-header.ts";
import { type LineRows, NO_SECTION } from "./line-rows.ts";
import { type DwarfWasm, dwarfWasm } from "./wasm-module.ts";

/** Longer programs run in place: their rows would need hundreds of megabytes here at once. */
const MOST_PROGRAM_BYTES = 16 << 20;
const SEQUENCE = 3;

/**
 * The fast path: runs a line program in WebAssembly, which needs no time to warm up.
 *
 * @param rows empty ones
 * @returns false, and nothing has happened, for a program that `runLineProgram` is to run: a damaged one, or with
 *   instructions that are rare
 */
export function runFastLineProgram(
  line: Uint8Array,
  header: LineHeader,
  rows: LineRows,
  sectionAt?: (offset: number) => number | undefined,
): boolean {
  const wasm = dwarfWasm();
  const program = enterProgram(wasm, line, header);
  if (program === undefined) return false;
  wasm.runLineProgram(...program);
  if (wasm.isDeclined.value !== 0) return false;
  const { buffer } = wasm.memory;
  const count = wasm.lineCount.value;
  rows.take({
    addresses: new Float64Array(buffer, wasm.lineAddresses.value, count),
    lines: new Uint32Array(buffer, wasm.lineNumbers.value, count),
    files: new Uint32Array(buffer, wasm.lineFiles.value, count),
    columns: new Uint16Array(buffer, wasm.lineColumns.value, count),
    discriminators: new Uint32Array(buffer, wasm.lineDiscriminators.value, count),
    hasDiscriminators: wasm.hasDiscriminators.value !== 0,
    highestFile: wasm.highestFile.value >>> 0,
    highestAddress: wasm.highestAddress.value,
  });
  const sequences = new Uint32Array(buffer, wasm.sequences.value, wasm.sequenceCount.value * SEQUENCE);
  for (let at = 0; at < sequences.length; at += SEQUENCE) {
    const place = sequences[at + 2];
    rows.section = place === 0 ? NO_SECTION : (sectionAt?.(header.programStart + place) ?? NO_SECTION);
    rows.addSequence(sequences[at], sequences[at + 1]);
  }
  return true;
}

type Program = Parameters<DwarfWasm["runLineProgram"]>;

/** Copies a program, unless it is one of the rare. */
function enterProgram(wasm: DwarfWasm, line: Uint8Array, header: LineHeader): Program | undefined {
  const { lineBase, lineRange, opcodeBase, operandCounts, programStart, programEnd } = header;
  const size = programEnd - programStart;
  if (header.operationsPerInstruction > 1 || !(size >= 0 && size <= MOST_PROGRAM_BYTES)) return undefined;
  wasm.begin();
  const counts = put(wasm, Uint8Array.from(operandCounts));
  const program = put(wasm, line.subarray(programStart, programEnd));
  const range = lineRange === 0 ? 256 : lineRange;
  return [program, size, counts, opcodeBase, lineBase, range, header.minimumInstructionLength];
}

function put(wasm: DwarfWasm, bytes: Uint8Array): number {
  const start = wasm.reserve(bytes.length);
  if (start !== 0) new Uint8Array(wasm.memory.buffer, start, bytes.length).set(bytes);
  return start;
}
