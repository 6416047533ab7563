import type { UnwindOptions as WalkOptions } from "../../code/unwind/index.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { ObjectFinder } from "../../names/load/objects.ts";
import { type ImageStacks, unwindImage } from "../../names/stacks/image-stacks.ts";
import { type Dump, openDump, profileOfImage } from "../../names/stacks/load-dump.ts";
import { loadFrameNamer, preferAsGdb, preferAsPerf } from "../../names/stacks/names.ts";
import { KernelNamer } from "../../names/stacks/recordings/kallsyms.ts";
import {
  CutStacks,
  describeRecording,
  loadKernelSymbols,
  nodeZstd,
} from "../../names/stacks/recordings/named-samples.ts";
import {
  type EventProfile,
  isEventOf,
  PerfProfileBuilder,
} from "../../names/stacks/recordings/perf-profile.ts";
import { unwindPerfData } from "../../names/stacks/recordings/sample-walks.ts";
import type { PerfHeader } from "../../profile/formats/perf-data/index.ts";
import type { NativeRecording } from "../../profile/model/native-stacks.ts";
import type { SampleProfile } from "../../profile/model/sample-profile.ts";
import type { UnwindOptions } from "./options.ts";

/** Events of a recording that `--event` selects; all without it. */
export class EventChoice {
  readonly #name: string | undefined;

  constructor(name: string | undefined) {
    this.#name = name;
  }

  isNamed(event: string): boolean {
    return this.#name === undefined || isEventOf(event, this.#name);
  }

  has(event: number, header: PerfHeader): boolean {
    return this.isNamed(header.events[event]!.name);
  }

  /** @throws UserError if the recording has no such event */
  check({ events }: PerfHeader): void {
    if (this.#name === undefined || events.some(({ name }) => this.isNamed(name))) return;
    const names = [...new Set(events.map(({ name }) => name))].join(", ");
    throw new UserError(`--event ${this.#name}: the recording has ${names === "" ? "no events" : names}`);
  }
}

type ImageDump = Dump & { kind: "image" };
type PerfDump = Dump & { kind: "perf" };

/**
 * Loads the stacks of a core dump, a minidump or perf.data, with names, and adds them up.
 *
 * @throws UserError in one line for other files
 */
export async function loadSampleProfile(file: string, options: UnwindOptions): Promise<SampleProfile> {
  const dump = await openDump(file);
  try {
    if (dump.kind === "perf") return (await perfProfile(dump, options)).profile;
    return profileOfImage(unwoundImage(dump, options), loadFrameNamer(preferAsGdb, finderOf(options)));
  } finally {
    dump.close();
  }
}

export function unwoundImage({ image }: ImageDump, options: UnwindOptions): ImageStacks {
  const finder = finderOf(options);
  return unwindImage(
    image,
    {
      find: (wanted) => finder.find({ ...wanted, architecture: image.architecture }),
      findDebugFile: (found) => finder.findDebugFile(found),
    },
    { ...walkOptions(options), registers: options.regs === true },
  );
}

export async function perfProfile(
  { source, gaps }: PerfDump,
  options: UnwindOptions,
): Promise<{ profile: SampleProfile; events: readonly EventProfile[]; recording: NativeRecording }> {
  const finder = finderOf(options);
  const namer = loadFrameNamer(preferAsPerf, finder);
  let buildIds: ReadonlyMap<string, string> = new Map();
  const kernel = new KernelNamer((reference) =>
    loadKernelSymbols(buildIds.get("[kernel.kallsyms]"), reference),
  );
  let builder: PerfProfileBuilder | undefined;
  const choice = new EventChoice(options.event);
  const cut = new CutStacks();
  const stacks = await unwindPerfData(source, finder, {
    zstd: nodeZstd,
    options: walkOptions(options),
    onSample: (stack, header) => {
      buildIds = header.buildIds;
      builder ??= new PerfProfileBuilder(header, namer, kernel, options.event);
      if (!choice.has(stack.sample.event, header)) return;
      builder.add(stack);
      cut.add(stack);
    },
  });
  choice.check(stacks.header);
  builder ??= new PerfProfileBuilder(stacks.header, namer, kernel, options.event);
  const recording = describeRecording({ ...stacks, gaps: [...gaps, ...stacks.gaps, ...cut.inWords()] });
  return {
    profile: builder.finish(),
    events: builder.finishByEvent(),
    recording: { ...recording, events: recording.events.filter((name) => choice.isNamed(name)) },
  };
}

export function finderOf({ binaryPath = [], sysroot, debugFileDirectory }: UnwindOptions): ObjectFinder {
  return new ObjectFinder({
    binaryPaths: binaryPath,
    ...(sysroot === undefined ? {} : { sysroot }),
    ...(debugFileDirectory === undefined ? {} : { debugDirectories: debugFileDirectory }),
  });
}

export function walkOptions({ framePointers, scan, maxFrames }: UnwindOptions): WalkOptions {
  return { framePointers, scan: scan === true, ...(maxFrames === undefined ? {} : { maxFrames }) };
}
