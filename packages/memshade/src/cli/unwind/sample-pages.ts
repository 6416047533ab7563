import { FrameRules } from "../../explain/analyses/frames/frame-rules.ts";
import { profileOfImage } from "../../names/stacks/image-profile.ts";
import type { Dump } from "../../names/stacks/load-dump.ts";
import { nameImageStacks } from "../../names/stacks/named-image.ts";
import { loadFrameNamer } from "../../names/stacks/names/load-namer.ts";
import { preferAsGdb } from "../../names/stacks/names/name-frames.ts";
import { counted } from "../../profile/model/counted.ts";
import type { MissingFile } from "../../profile/model/native-stacks.ts";
import type { SampleProfile } from "../../profile/model/sample-profile.ts";
import { sourceFiles } from "../../runs/page/source-files.ts";
import type { PageData } from "../../show/report/page/data/page-data.ts";
import { pageOfSamples } from "../../show/report/page/data/sample-page.ts";
import { missingLines, nativeStacksText } from "../../show/report/terminal/stacks/native-stacks.ts";
import { perfProfileText } from "../../show/report/terminal/stacks/perf-profile.ts";
import type { UnwindOptions } from "./options.ts";
import { perfProfile, unwoundImage } from "./sample-profile.ts";
import { finderOf } from "./walk-options.ts";

const ROWS = 20;
const COLUMNS = 80;

/** A page, and the same as text for readers without scripts. */
interface PageAndText {
  readonly page: PageData;
  readonly text: string;
}

/** The stacks of a dump or recording as a page. */
export async function pageOfDump(dump: Dump, options: UnwindOptions): Promise<PageAndText> {
  return dump.kind === "image" ? pageOfThreads(dump, options) : pageOfRecording(dump, options);
}

function pageOfThreads(dump: Dump & { kind: "image" }, options: UnwindOptions): PageAndText {
  const stacks = unwoundImage(dump, options);
  const namer = loadFrameNamer(preferAsGdb, finderOf(options));
  const named = nameImageStacks(stacks, namer, { registers: false });
  const page = samplePage(profileOfImage(stacks, namer), {
    gaps: missingInWords(named.missing),
    command: [],
    binaryPath: options.binaryPath,
  });
  return { page, text: [...nativeStacksText(named)].join("") };
}

async function pageOfRecording(dump: Dump & { kind: "perf" }, options: UnwindOptions): Promise<PageAndText> {
  const { profile, events, recording } = await perfProfile(dump, options);
  const { lost, notes, missing, command } = recording;
  const lostInWords =
    lost === 0 ? [] : [`${counted(lost, "sample was", "samples were")} lost while recording.`];
  const gaps = [...notes, ...lostInWords, ...missingInWords(missing)];
  const page = samplePage(profile, { gaps, command, binaryPath: options.binaryPath });
  return { page, text: perfProfileText(profile, events, recording, { rows: ROWS, width: COLUMNS }) };
}

interface OfSamples {
  readonly binaryPath: readonly string[] | undefined;
  readonly gaps: readonly string[];
  readonly command: readonly string[];
}

function samplePage(profile: SampleProfile, { gaps, command, binaryPath }: OfSamples): PageData {
  const read = sourceFiles([], undefined, binaryPath);
  return pageOfSamples(profile, { rules: new FrameRules(), sources: "lines", read, gaps, command });
}

function missingInWords(missing: readonly MissingFile[]): string[] {
  return missingLines(missing).map((line) => line.trim());
}
