import fs from "node:fs";
import path from "node:path";
import { SourcelessCode } from "../explain/analyses/frames/sourceless-code.ts";
import { UserError } from "../ground/bytes/errors.ts";
import { describeSystemError } from "../ground/bytes/system-errors.ts";
import { readRegular } from "../names/load/file.ts";
import { CPU_FILE, type CpuProfile, type CpuSamples, readCpuSamples } from "../profile/model/cpu.ts";
import { NONE } from "../profile/model/indices.ts";
import { RUN_FILE, type Run } from "../profile/model/run.ts";
import {
  type SampleFrame,
  type SampleProfile,
  SampleProfileBuilder,
} from "../profile/model/sample-profile.ts";
import { runAround } from "./run-of-folder.ts";
import type { OriginalPlaces } from "./run-symbols.ts";
import { SiteNamer } from "./site-namer.ts";
import type { OwnCode } from "./suppressions.ts";

const NS_PER_SECOND = 1e9;

/** True if a run, given by its folder or its `run.json`, has call paths by CPU time. */
export function hasCpu(input: string): boolean {
  return fs.existsSync(input) && isRun(input) && runAround(input)?.files.cpu !== undefined;
}

function isRun(input: string): boolean {
  return fs.statSync(input).isDirectory() || path.basename(input) === RUN_FILE;
}

/**
 * Reads the call paths by CPU time of a run, given by its folder or its `run.json`.
 *
 * @throws UserError in one line if they are missing, were not recorded, or are damaged
 */
export function loadCpu(input: string, { rules, ...places }: OriginalPlaces & OwnCode = {}): CpuProfile {
  if (!fs.existsSync(input)) throw new UserError(`${input}: there is no such file or directory`);
  const run = isRun(input) ? runAround(input) : undefined;
  if (run?.files.cpu === undefined)
    throw new UserError(`${input} has no call paths by CPU time: it was recorded without --sample`);
  const folder = fs.statSync(input).isDirectory() ? input : path.dirname(input);
  const file = path.join(folder, path.basename(run.files.cpu));
  if (!fs.existsSync(file)) throw new UserError(`${input} is incomplete: ${CPU_FILE} is missing`);
  const recorded = readFile(file);
  const namer = new SiteNamer(run, places);
  const samples = withLibraries(profileOf(recorded, run, namer), rules);
  const { hz, lost, own, endedEarly, notTracked } = recorded;
  return {
    program: run.program,
    command: run.command,
    hz,
    samples,
    lost,
    own,
    endedEarly,
    notTracked: [...notTracked, ...namer.missing],
  };
}

function readFile(file: string): CpuSamples {
  try {
    return readCpuSamples(readRegular(file).toString());
  } catch (error) {
    if (error instanceof UserError) throw new UserError(`${file}: ${error.message}`);
    throw new UserError(`${file} cannot be read: ${describeSystemError(error)}`);
  }
}

function profileOf({ hz, threads, stacks, samples }: CpuSamples, run: Run, namer: SiteNamer): SampleProfile {
  const builder = new SampleProfileBuilder({
    name: run.program,
    valueTypes: [
      { type: "samples", unit: "count" },
      { type: "cpu", unit: "nanoseconds" },
    ],
  });
  for (const { name, path: place, buildId, object, codeBytes } of run.modules)
    builder.addModule({
      name,
      path: place ?? undefined,
      buildId,
      start: object?.address ?? 0,
      end: (object?.address ?? 0) + codeBytes,
    });
  const main = threads[0]?.id ?? 0;
  for (const { id, name } of threads) builder.addThread({ pid: main, tid: id, name });
  const stackOfNode: number[] = [];
  stacks.site.forEach((site, index) => {
    const caller = stacks.caller[index]!;
    let stack: number = caller === NONE ? NONE : stackOfNode[caller]!;
    for (const frame of namer.frames(site)) stack = builder.stack(stack, builder.frame(frame));
    stackOfNode.push(stack);
  });
  const period = NS_PER_SECOND / hz;
  samples.stack.forEach((stack, row) => {
    const innermost = stack === NONE ? NONE : stackOfNode[stack]!;
    const periods = samples.periods[row]!;
    builder.addSample(
      samples.thread[row]!,
      innermost,
      [periods, Math.round(periods * period)],
      samples.ms[row]!,
    );
  });
  return builder.finish();
}

/** Adds each frame's library, by the same rules as for the heap. */
function withLibraries(profile: SampleProfile, rules: OwnCode["rules"]): SampleProfile {
  if (rules === undefined) return profile;
  const sourceless = new SourcelessCode(rules);
  for (const { function: name, file, module } of profile.frames) sourceless.add(module, name, file);
  const frames = profile.frames.map((frame): SampleFrame => {
    const { function: name, file, module: index } = frame;
    const module = index === undefined ? undefined : profile.modules[index];
    const named = { function: name, file, module: module?.path ?? module?.name };
    const library = rules.libraryOf(named) ?? sourceless.libraryOf(index, name, named);
    return library === undefined ? frame : { ...frame, library };
  });
  return { ...profile, frames };
}
