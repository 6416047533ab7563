import { counted } from "../../profile/model/counted.ts";
import type { DataAccessProfile } from "../../profile/model/memprof/index.ts";
import type { MibField } from "../../profile/model/mib-fields.ts";
import { say } from "../../record/host/run/terminal-line.ts";

const MOST_NAMED = 20;

export interface Sizes {
  readonly contexts: number;
  readonly functions: number;
}

export interface Sources {
  readonly inputs: number;
  readonly unmatched: readonly string[];
  readonly dropped: number;
}

export function sayWritten(
  output: string,
  { contexts, functions }: Sizes,
  { inputs, unmatched, dropped }: Sources,
  keepsUnresolved = false,
): void {
  say(
    `${output} written: ${counted(inputs, "profile")}, ${counted(contexts, "context")}, ` +
      `${counted(functions, "function")}`,
  );
  if (unmatched.length > 0) {
    const fate = keepsUnresolved ? "kept as build id and offset" : "left out";
    say(`no binary was given for ${counted(unmatched.length, "module")}, whose frames are ${fate}:`);
    for (const buildId of unmatched.slice(0, MOST_NAMED)) say(`  ${buildId}`);
    if (unmatched.length > MOST_NAMED) say(`  and ${unmatched.length - MOST_NAMED} more`);
  }
  if (dropped > 0) {
    const ofAll = inputs > 1 ? ", in all profiles together" : "";
    say(`left out: ${counted(dropped, "context")} without a frame that could be named${ofAll}`);
  }
}

/** Reports accesses to static data that were left out: only version 4 of profiles can hold them. */
export function sayDataAccessLeftOut({ records }: DataAccessProfile): void {
  if (records.length > 0) say("accesses to static data are left out: --memprof-version 4 has room for them");
}

export function sayDataAccess(profile: DataAccessProfile | undefined): void {
  if (profile === undefined) return;
  const { records, coldSymbols } = profile;
  say(`static data: ${counted(records.length, "hot symbol")}, ${counted(coldSymbols.length, "cold one")}`);
}

export function sayMissingFields(knownFields: readonly MibField[], wantedFields: readonly MibField[]): void {
  const missing = wantedFields.filter(
    (field) => !field.name.startsWith("accessHistogram") && !knownFields.includes(field),
  );
  if (missing.length > 0)
    say(`fields that some inputs lack are left out: ${missing.map(({ name }) => name).join(", ")}`);
}
