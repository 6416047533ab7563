// Measures the graph of a report page in Chromium: processor time of its main thread for one zoom, hover, scroll and range with 50,000
// drawn boxes, and for the layout of 1,000,000 contexts. See bench/README.md.
import type { CDPSession, Page } from "playwright-core";
import type { PageData } from "../../packages/memshade/src/show/report/page/data/page-data.ts";
import { foldContexts } from "../../packages/memshade/src/show/report/page/graph/layout/box-finder.ts";
import { baseTree } from "../../packages/memshade/src/show/report/page/graph/use-graph.ts";
import { madeUpPage } from "../../packages/memshade/test/show/report/page/made-up-page.ts";
import { PageBrowser } from "../../packages/memshade/test/show/report/page/open-page.ts";

/** Number of paths side by side, each one pixel wide and `DEPTH` frames deep. */
const PATHS = 1500;
const DEPTH = 36;
const INTERVALS = 20;
const ROUNDS = 20;

/** A page on which 1,500 times 36 boxes are visible at once. */
function wideData(): PageData {
  const length = PATHS * DEPTH;
  const made = madeUpPage({ contexts: 1, functions: PATHS, intervals: INTERVALS });
  made.frames.flags.fill(0);
  const parent = Int32Array.from({ length }, (_, context) => (context % DEPTH === 0 ? -1 : context - 1));
  const frame = Int32Array.from(
    { length },
    (_, context) => (Math.floor(context / DEPTH) + 7 * (context % DEPTH)) % PATHS,
  );
  const leaves = Int32Array.from({ length: PATHS }, (_, path) => path * DEPTH + DEPTH - 1);
  const values = new Float64Array(length);
  for (const [path, leaf] of leaves.entries()) values[leaf] = 20_000 + (path % 7);
  const rows = PATHS * INTERVALS;
  const [heap] = made.timelines;
  return {
    ...made,
    contexts: { length, parent, frame, site: frame.map((_, context) => context) },
    weights: [{ ...made.weights[0], values, total: values.reduce((sum, value) => sum + value, 0) }],
    ratios: [],
    findings: [],
    objects: [],
    timelines: [
      {
        ...heap,
        deltas: {
          offset: Int32Array.from({ length: INTERVALS + 1 }, (_, interval) => interval * PATHS),
          context: Int32Array.from({ length: rows }, (_, row) => leaves[row % PATHS]),
          columns: [
            { weight: "bytes", values: Float64Array.from({ length: rows }, (_, row) => 1000 + (row % 5)) },
          ],
        },
      },
    ],
  };
}

/** Milliseconds of the main thread's processor time for an action and its consequences. */
async function cost(
  page: Page,
  session: CDPSession,
  act: (round: number) => Promise<unknown>,
): Promise<number> {
  const taken = async (): Promise<number> => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * metrics.find(({ name }) => name === "TaskDuration")!.value;
  };
  const settle = () =>
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30)))");
  await settle();
  const idleBegin = await taken();
  for (let round = 0; round < ROUNDS; round++) await settle();
  const begin = await taken();
  for (let round = 0; round < ROUNDS; round++) {
    await act(round);
    await settle();
  }
  return ((await taken()) - begin - (begin - idleBegin)) / ROUNDS;
}

const browser = await PageBrowser.start();
const page = await browser.open(wideData(), "tab=graph&folded=0", {
  viewport: { width: 1632, height: 1100 },
});
const session = await page.context().newCDPSession(page);
await session.send("Performance.enable", { timeDomain: "threadTicks" });
const graph = page.getByRole("application", { name: /^Calling contexts/ });
const strip = page.getByRole("application", { name: /^live heap/ });
const { x, y, width } = (await graph.boundingBox())!;
const rows: [string, number][] = [];
rows.push([
  "hover",
  await cost(page, session, (round) => page.mouse.move(x + (width * (round + 0.5)) / ROUNDS, y + 100)),
]);
rows.push([
  "scroll",
  await cost(page, session, (round) =>
    graph.evaluate((element, top) => element.scrollTo(0, top), 20 * (round % 5)),
  ),
]);
await graph.focus();
await page.keyboard.press("ArrowDown");
rows.push([
  "zoom in or out",
  await cost(page, session, (round) => page.keyboard.press(round % 2 === 0 ? "Enter" : "Escape")),
]);
await strip.focus();
await page.keyboard.press("ArrowRight");
rows.push(["change of the range", await cost(page, session, () => page.keyboard.press("Shift+ArrowRight"))]);
await browser.close();

const million = madeUpPage({ contexts: 1_000_000, functions: 5000, intervals: 0 });
const groupOf = Int32Array.from({ length: million.frames.length }, (_, frame) => frame);
const times = Array.from({ length: 5 }, () => {
  const begin = process.cpuUsage();
  baseTree(foldContexts(million.contexts, { groupOf }), million.weights[0].values);
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / 1000;
});
rows.push(["layout of 1,000,000 contexts (Node)", Math.min(...times)]);

console.log(`| ${(PATHS * DEPTH).toLocaleString("en")} boxes | ms of the processor |\n| --- | ---: |`);
for (const [what, time] of rows) console.log(`| ${what} | ${time.toFixed(1)} |`);
