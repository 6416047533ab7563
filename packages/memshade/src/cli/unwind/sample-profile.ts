import { profileOfImage } from "../../names/stacks/image-profile.ts";
import { type ImageStacks, unwindImage } from "../../names/stacks/image-stacks.ts";
import { type Dump, openDump } from "../../names/stacks/load-dump.ts";
import { loadFrameNamer } from "../../names/stacks/names/load-namer.ts";
import { preferAsGdb, preferAsPerf } from "../../names/stacks/names/name-frames.ts";
import { CutStacks } from "../../names/stacks/recordings/cut-stacks.ts";
import { KernelNamer } from "../../names/stacks/recordings/kernel-symbols.ts";
import { nodeZstd } from "../../names/stacks/recordings/load-decompressor.ts";
import { loadKernelSymbols } from "../../names/stacks/recordings/load-kernel-symbols.ts";
import { describeRecording } from "../../names/stacks/recordings/named-samples.ts";
import { type EventProfile, PerfProfileBuilder } from "../../names/stacks/recordings/perf-profile.ts";
import { unwindPerfData } from "../../names/stacks/recordings/perf-stacks.ts";
import type { NativeRecording } from "../../profile/model/native-stacks.ts";
import type { SampleProfile } from "../../profile/model/sample-profile.ts";
import { EventChoice } from "./event-choice.ts";
import type { UnwindOptions } from "./options.ts";
import { finderOf, walkOptions } from "./walk-options.ts";

type ImageDump = Dump & { kind: "image" };
type PerfDump = Dump & { kind: "perf" };

/**
 * The stacks in a core dump, a minidump or perf.data, with names and added up.
 *
 * @throws UserError in one line if it is none of these
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

/** The threads of a dump. */
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

/** The samples of perf.data added up, and what the recording says of itself. */
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
