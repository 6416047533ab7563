import type {
  NamedRoot,
  Retained,
  RetainedPlace,
  RetainerPath,
} from "../../../explain/analyses/retainers.ts";
import type { MeasuredFrame } from "../../../explain/measures/measured-stacks.ts";
import { jsonText, RankedList } from "./text.ts";

const RETAINERS_REPORT_SCHEMA = "memshade-retainers-report";
const RETAINERS_REPORT_VERSION = 1;

/** Places of live blocks, and who holds them. */
interface RetainersJson {
  /** Name and version of the format. */
  schema: typeof RETAINERS_REPORT_SCHEMA;
  version: typeof RETAINERS_REPORT_VERSION;
  /** Run, as named on the command line. */
  input: string;
  /** Text that the places contain; absent: all places. */
  site?: string | undefined;
  /** Sentences about everything that the profile does not cover. */
  notTracked: readonly string[];
  /** Live blocks of the run, and their bytes. */
  blocks: number;
  bytes: number;
  /** Places, most bytes first. */
  places: RankedList<RetainedJson>;
  /** Number of places left out by `-n`. */
  placesOmitted: number;
}

interface RetainedJson extends Pick<RetainedPlace, "blocks" | "bytes" | "falls"> {
  /** Place that allocates the blocks; null if unknown. */
  place: RetainerFrameJson | null;
  /** Paths from roots to the blocks, most bytes first. */
  paths: RankedList<RetainerPathJson>;
}

/** Path of pointers from a root to blocks of the place. */
interface RetainerPathJson extends Pick<RetainerPath, "blocks" | "bytes" | "falls" | "fallsWithRoot"> {
  /** Root of the path: its kind as in retainers.json, or "host" (only JavaScript may hold the blocks), its name, its module, and the offset of a pointer in it. */
  root: NamedRoot;
  /** Blocks on the way, by the places that allocate them; the first ones are held by the root. */
  holders: { place: RetainerFrameJson | null; member?: string | undefined; offset?: number | undefined }[];
}

interface RetainerFrameJson extends Pick<MeasuredFrame, "file" | "line" | "module" | "library"> {
  /** Name of the function. */
  function?: string | undefined;
}

interface RetainersReport {
  readonly input: string;
  readonly site?: string | undefined;
  readonly rows: number;
  readonly notTracked: readonly string[];
  readonly framesAt: (place: number) => readonly MeasuredFrame[];
}

/** Formats retainers as JSON (docs/report-json.md). */
export function retainersJson(
  { blocks, bytes }: Retained,
  chosen: readonly RetainedPlace[],
  { input, site, rows, notTracked, framesAt }: RetainersReport,
): string {
  const frameJson = (place: number): RetainerFrameJson | null => {
    const [frame] = place < 0 ? [] : framesAt(place);
    if (frame === undefined) return null;
    const { function: name, file, line, module, library } = frame;
    return { function: name, file, line, module, library };
  };
  const document: RetainersJson = {
    schema: RETAINERS_REPORT_SCHEMA,
    version: RETAINERS_REPORT_VERSION,
    input,
    site,
    notTracked,
    blocks,
    bytes,
    places: RankedList.of(chosen.slice(0, rows), ({ place, paths, ...sums }) => ({
      place: frameJson(place),
      ...sums,
      paths: RankedList.of(paths, ({ holders, ...path }) => ({
        ...path,
        holders: holders.map(({ place: holder, member, offset }) => ({
          place: frameJson(holder),
          member,
          offset,
        })),
      })),
    })),
    placesOmitted: Math.max(0, chosen.length - rows),
  };
  return jsonText(document);
}
