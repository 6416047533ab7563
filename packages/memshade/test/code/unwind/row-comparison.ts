import { spawn } from "node:child_process";
import type { InterpretedRows } from "./interpreted-rows.ts";

const SHOWN = 10;

/** Compares interpreted rows with those of a reference tool, FDE by FDE in the order of the file. */
export class RowComparison {
  fdes = 0;
  rows = 0;
  readonly differences: string[] = [];
  differenceCount = 0;
  readonly #ours: InterpretedRows;
  readonly #every: number;
  /** Number of the FDE being printed; FDEs without code do not count. */
  #fde = -1;
  #start = 0;
  #end = 0;
  #printed = new Map<number, string>();

  constructor(ours: InterpretedRows, every = 1) {
    this.#ours = ours;
    this.#every = every;
  }

  beginFde(start: number, end: number): void {
    this.endFde();
    this.#start = start;
    this.#end = end;
    if (end !== start) this.#fde++;
  }

  /** True if the rows of the current FDE are compared. */
  get wantsRows(): boolean {
    return this.#end !== this.#start && this.#fde % this.#every === 0;
  }

  /** Adds a row as the tool prints it. If an address repeats, the last row counts. */
  addRow(address: number, text: string): void {
    this.#printed.set(address, text);
  }

  endFde(): void {
    const printed = this.#printed;
    const fde = this.#fde;
    if (this.wantsRows) this.#compare(fde, printed);
    printed.clear();
    this.#start = this.#end;
  }

  /** Must be called after the last FDE. */
  finish(): void {
    this.endFde();
    const { fdeCount } = this.#ours.rows;
    if (this.#fde + 1 !== fdeCount) this.#differ(`${this.#fde + 1} FDEs are not ${fdeCount}`);
  }

  #compare(fde: number, printed: Map<number, string>): void {
    const { rows } = this.#ours;
    const start = this.#ours.base + rows.fdeStarts[fde];
    if (start !== this.#start || this.#ours.base + rows.fdeEnds[fde] !== this.#end) {
      this.#differ(`FDE ${fde} begins at ${hexadecimal(start)}, not ${hexadecimal(this.#start)}`);
      return;
    }
    this.fdes++;
    // readelf prints no row for an FDE without instructions: the CIE's row holds.
    const isPrinted = printed.size > 0 || rows.fdeRows[fde + 1] - rows.fdeRows[fde] > 1;
    for (let row = rows.fdeRows[fde]; row < rows.fdeRows[fde + 1]; row++) {
      this.rows++;
      const address = this.#ours.base + rows.starts[row];
      const theirs = printed.get(address);
      printed.delete(address);
      const ours = this.#ours.text(row);
      if (isPrinted && theirs !== ours) this.#differ(`${hexadecimal(address)}: ${theirs} is not ${ours}`);
    }
    for (const [address, text] of printed)
      if (address < this.#end) this.#differ(`${hexadecimal(address)}: ${text} is missing`);
  }

  #differ(text: string): void {
    this.differenceCount++;
    if (this.differences.length < SHOWN) this.differences.push(text);
  }
}

function hexadecimal(address: number): string {
  return `0x${address.toString(16)}`;
}

async function forEachLine(
  command: string,
  args: readonly string[],
  onLine: (line: string) => void,
): Promise<void> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "ignore"] });
  child.stdout.setEncoding("latin1");
  let rest = "";
  for await (const chunk of child.stdout) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    for (const line of lines) if (line !== "") onLine(line);
  }
}

export async function compareWithReadelf(
  file: string,
  ours: InterpretedRows,
  every?: number,
): Promise<RowComparison> {
  const comparison = new RowComparison(ours, every);
  let columns: string[] = [];
  await forEachLine("readelf", ["--wide", "--debug-dump=frames-interp", file], (line) => {
    const fde = line.includes(" FDE cie=") ? /pc=([0-9a-f]+)\.\.([0-9a-f]+)/.exec(line) : null;
    if (fde !== null) comparison.beginFde(Number.parseInt(fde[1], 16), Number.parseInt(fde[2], 16));
    else if (line.includes(' CIE "')) comparison.endFde();
    else if (comparison.wantsRows)
      if (line.startsWith("   LOC")) {
        columns = line.trim().split(/\s+/).slice(1);
      } else if (/^[0-9a-f]{16} /.test(line)) {
        // "r9 (r9)", "r1 (rdx)": a register that holds the value of another, by number and by name.
        const plain = line.replaceAll(/\br\d+ \((\w+)\)/g, "$1");
        const [location, cfa, ...cells] = plain.trim().split(/\s+/);
        const rules = cells.flatMap((cell, i) => (cell === "u" ? [] : [`${columns[i + 1]}=${cell}`]));
        comparison.addRow(Number.parseInt(location, 16), [cfa, ...rules].join(" "));
      }
  });
  comparison.finish();
  return comparison;
}

export async function compareWithDwarfdump(
  command: string,
  file: string,
  ours: InterpretedRows,
  every?: number,
): Promise<RowComparison> {
  const comparison = new RowComparison(ours, every);
  await forEachLine(command, ["--eh-frame", file], (line) => {
    const fde = line.includes(" FDE cie=") ? /pc=([0-9a-f]+)\.\.\.([0-9a-f]+)/.exec(line) : null;
    if (fde !== null) {
      comparison.beginFde(Number.parseInt(fde[1], 16), Number.parseInt(fde[2], 16));
    } else if (line.endsWith(" CIE")) {
      comparison.endFde();
    } else if (comparison.wantsRows) {
      const row = /^ {2}0x([0-9a-f]+): CFA=(.*)$/.exec(line);
      if (row !== null) comparison.addRow(Number.parseInt(row[1], 16), ruleText(row[2]));
    }
  });
  comparison.finish();
  return comparison;
}

/** `RSP+16: RBX=[CFA-24], RIP=[CFA-8]` as `rsp+16 rbx=c-24 ra=c-8`. */
function ruleText(text: string): string {
  const withoutExpressions = text
    .replaceAll(/\[DW_OP[^\]]*\]/g, "[exp]")
    .replaceAll(/DW_OP[^:]*(?=:)/g, "exp")
    .replaceAll(/=DW_OP.*?(?=, [A-Z0-9]+=|$)/g, "=vexp");
  const [base, ...own] = withoutExpressions.split(": ");
  const cfa = base.toLowerCase();
  const rules = own
    .flatMap((list) => list.split(", "))
    .map((rule) => rule.split("="))
    .filter(([, value]) => value !== "undefined")
    .map(([name, value]) => `${name === "RIP" ? "ra" : name.toLowerCase()}=${valueText(value)}`);
  return armNames([/[+-]|exp/.test(cfa) ? cfa : `${cfa}+0`, ...rules].join(" "));
}

/** Registers of AArch64 in readelf's names; llvm-dwarfdump uses the names of their lower parts. */
function armNames(text: string): string {
  return (
    text
      .replaceAll(/\bwsp\b/g, "sp")
      .replaceAll(/\bw30=/g, "ra=")
      .replaceAll(/\bw(\d+)/g, "x$1")
      .replaceAll(/\bb(\d+)=/g, "v$1=")
      // Not signed any more: equal to no entry.
      .replaceAll(" reg34=0", "")
      .replaceAll(/\breg34=/g, "r34=")
  );
}

function valueText(value: string): string {
  if (value === "[exp]") return "exp";
  const saved = /^\[CFA([+-]\d+)?\]$/.exec(value);
  if (saved !== null) return `c${saved[1] ?? "+0"}`;
  const computed = /^CFA([+-]\d+)?$/.exec(value);
  if (computed !== null) return `v${computed[1] ?? "+0"}`;
  return value === "same" ? "s" : value.toLowerCase();
}
