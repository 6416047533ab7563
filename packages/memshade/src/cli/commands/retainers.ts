import type { Command } from "commander";
import type { RetainedPlace } from "../../explain/analyses/retainers.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { type LoadedRetainers, loadRetainers } from "../../runs/retainers.ts";
import { retainersJson } from "../../show/report/json/retainers.ts";
import type { ColorChoice } from "../../show/report/terminal/common/paint.ts";
import { placeText, retainersText } from "../../show/report/terminal/heap/retainers.ts";
import { chosenRun } from "../chosen-run.ts";
import { print } from "../line-input.ts";
import {
  addShared,
  parseRows,
  READ_OPTIONS,
  type ReadFlags,
  readOptions,
  screenOptions,
  standardOutput,
  type Terminal,
} from "./report-options.ts";

const USUAL_ROWS = 10;

interface RetainersOptions extends ReadFlags {
  readonly site?: string | undefined;
  readonly rows: number;
  readonly wide?: boolean | undefined;
  readonly json?: boolean | undefined;
  readonly color: ColorChoice;
}

const EXAMPLES = `
Examples:
  memshade retainers                     of the newest run in memshade.out
  memshade retainers memshade.out/app.4711 --site load_config
  memshade retainers memshade.out/app.4711 --site config.c:88 --json`;

export function addRetainersCommand(program: Command): void {
  const command = program
    .command("retainers")
    .summary("tell who holds the live blocks of a recorded run")
    .description(
      "Tells who holds the live blocks of a recorded run: a path of pointers from a global, a stack or other roots, and how many bytes fall without it.",
    )
    .argument("[run]", "directory of a run (default: the newest run in memshade.out)")
    .option("--site <text>", "only places whose function or file:line contains the text")
    .option("-n, --rows <N>", "places to show", parseRows, USUAL_ROWS);
  addShared(command, "wide", ...READ_OPTIONS, "json", "binaryPath", "color")
    .addHelpText("after", EXAMPLES)
    .action(async (named: string | undefined, options: RetainersOptions) => {
      const input = await chosenRun(named);
      print(await runRetainers(input, options, standardOutput()));
    });
}

async function runRetainers(input: string, options: RetainersOptions, terminal: Terminal): Promise<string> {
  const { site, rows, json } = options;
  const loaded = await loadRetainers(input, readOptions(options));
  const { retained, profile, framesAt } = loaded;
  const chosen = site === undefined ? retained.places : placesOf(site, loaded);
  if (site !== undefined && chosen.length === 0)
    throw new UserError(`no place with live blocks contains "${site}": memshade retainers lists them`);
  const report = { rows, notTracked: profile.description.notTracked, framesAt };
  return json === true
    ? retainersJson(retained, chosen, { ...report, input, site })
    : retainersText(retained, chosen, { ...screenOptions(options, terminal), ...report });
}

function placesOf(site: string, { retained, framesAt }: LoadedRetainers): RetainedPlace[] {
  return retained.places.filter(({ place }) => {
    const [frame] = framesAt(place);
    const line = frame?.file === undefined ? "" : `${frame.file}:${frame.line ?? 0}`;
    return [placeText(place, { framesAt }), frame?.function ?? "", line].some((text) => text.includes(site));
  });
}
