import fs from "node:fs";
import path from "node:path";
import type { Mib } from "../../../../src/profile/model/mib.ts";
import type { RawDump } from "../../../../src/profile/model/raw-profile.ts";

const repositoryRoot = path.resolve(import.meta.dirname, "../../../../../..");

export const ownFixtures = path.resolve(import.meta.dirname, "../../../fixtures/memprof");

/** The larger collection next to the repository; undefined if it is missing. */
export const sharedFixtures = existing(path.resolve(repositoryRoot, "../shared/fixtures/memprof"));

if (sharedFixtures === undefined)
  console.warn("SKIPPED: the MemProf fixtures beside the repository (../shared) are not there");

function existing(directory: string): string | undefined {
  return fs.existsSync(directory) ? directory : undefined;
}

export function rawProfilesBelow(directory: string): string[] {
  return fs
    .readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".memprofraw"))
    .filter((name) => fs.existsSync(path.join(directory, name.replace(/memprofraw$/, "raw.json"))))
    .sort()
    .map((name) => path.join(directory, name));
}

export function readBytes(file: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(fs.readFileSync(file));
}

/** Dumps of a file in the form of the `.raw.json` fixtures. */
export function textualDumps(dumps: readonly RawDump[]): unknown[] {
  return dumps.map(({ segments, mibs, stacks, ...header }) => ({
    ...header,
    segments: segments.map(({ start, end, offset, buildId }) => ({
      start: hex(start),
      end: hex(end),
      offset: hex(offset),
      buildId: Buffer.from(buildId).toString("hex"),
    })),
    mibs: mibs.map(({ stackId, mib }) => ({ stackId: `${stackId}`, ...textualMib(mib) })),
    stacks: stacks.map(({ stackId, pcs }) => ({ stackId: `${stackId}`, pcs: pcs.map(hex) })),
  }));
}

function textualMib({ histogram = [], accessHistogram: _pointer, ...fields }: Mib): object {
  const named = Object.entries(fields).map(([name, value]) => [
    `${name[0]!.toUpperCase()}${name.slice(1)}`,
    typeof value === "bigint" ? `${value}` : value,
  ]);
  return { ...Object.fromEntries(named), histogram: histogram.map((count) => `${count}`) };
}

function hex(value: bigint): string {
  return `0x${value.toString(16)}`;
}
