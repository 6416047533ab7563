import type { WasteFinding } from "../analyses/waste/findings.ts";
import { libraryOf } from "../analyses/waste/libraries.ts";
import type { WasteIp } from "../model/waste.ts";
import { formatBytes, formatCount, formatPercent } from "./format.ts";

/** A place as `parse (parse.c:88)`, by its function and offset where no line is known. */
export function placeOf(ips: readonly WasteIp[]): string {
  const [ip] = ips;
  const name = ip?.function ?? "unknown code";
  const place =
    ip?.file === undefined
      ? `+0x${((ip?.address ?? 0) % 2 ** 32).toString(16)}`
      : `${baseName(ip.file)}:${ip.line}`;
  return `${name} (${place})`;
}

/** What a finding says, and what to try, as sentences. */
export function sentencesOf(finding: WasteFinding): { says: string; advice: string } {
  const where = placeOf(finding.ips);
  const { bytes, operations, wasted, partner, isOwn, field } = finding;
  const share = formatPercent(Math.round(finding.share * 10_000), 10_000);
  const other = partner === undefined ? undefined : placeOf(partner.ips);
  const part = partner === undefined ? "" : formatPercent(partner.bytes, bytes);
  switch (finding.kind) {
    case "dead": {
      const by =
        other === undefined ? "" : isOwn ? `, ${part} of them by itself` : `, ${part} of them by ${other}`;
      return {
        says: `${formatBytes(bytes)} stored by ${where} are overwritten before anything reads them${by}: ${share} of what its ${operations === 1 ? "store writes" : `${formatCount(operations)} stores write`}.`,
        advice: deadAdvice(finding, other),
      };
    }
    case "silent": {
      const last =
        other === undefined ? "" : isOwn ? ", which it stored there itself" : `, which ${other} stored`;
      return {
        says: `${formatCount(wasted ?? 0)} of the ${formatCount(operations)} stores of ${where} write what is there already${last} (${share}).`,
        advice: "Compare before you store, or store only when the value was computed anew.",
      };
    }
    case "redundant": {
      const last = other === undefined ? "" : isOwn ? ", last loaded by itself" : `, last loaded by ${other}`;
      return {
        says: `${formatCount(wasted ?? 0)} of the ${formatCount(operations)} loads of ${where} load again what has not changed${last} (${share}).`,
        advice: "Keep the value in a local variable across the loop or the calls.",
      };
    }
    case "write-only":
      return {
        says: `Bytes ${field?.offset}–${(field?.offset ?? 0) + (field?.size ?? 1) - 1} of the ${formatCount(field?.objects ?? 0)} blocks of ${field?.blockSize} bytes from ${where} are written ${formatCount(operations)} times and never read.`,
        advice: "Drop the field, or do not fill it in where nobody asks for it.",
      };
    default:
      throw new RangeError(`no such finding: ${finding.kind satisfies never}`);
  }
}

function deadAdvice(finding: WasteFinding, killer: string | undefined): string {
  const isClear = finding.class === "fill" || /memset|bzero|clear|zero/i.test(finding.ips[0]?.function ?? "");
  if (isClear && killer !== undefined) return `Drop the clear: ${killer} fills the memory anyway.`;
  if (isClear) return "Drop the clear if all of it is filled afterwards, or clear what is left over only.";
  if (finding.class === "copy") return "Copy only what is read, or hand on a pointer instead of a copy.";
  if (finding.isOwn) return "Keep the value in a local variable and store it once, at the end.";
  return "Leave the store out, or move it to the paths on which the value is read.";
}

/** Whose code a finding is in: a library of the language, or undefined for the program's own. */
export function libraryOfFinding(finding: WasteFinding): string | undefined {
  return libraryOf(finding.ips[0]?.function);
}

function baseName(file: string): string {
  return file.slice(file.lastIndexOf("/") + 1);
}
