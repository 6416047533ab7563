// Measures the sizes of the report page, and the time to write it compared with the text report. See bench/README.md.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { deflateRawSync } from "node:zlib";
import { FrameRules } from "../../packages/memshade/src/explain/analyses/frames/frame-rules.ts";
import { withOwnSites } from "../../packages/memshade/src/explain/analyses/frames/mark-frames.ts";
import { runFindings } from "../../packages/memshade/src/explain/findings/run-findings.ts";
import { decodePage } from "../../packages/memshade/src/show/report/page/data/decode.ts";
import { encodePage, pageFile } from "../../packages/memshade/src/show/report/page/data/encode.ts";
import { pageOfRun } from "../../packages/memshade/src/show/report/page/data/run-page.ts";
import { createPaint } from "../../packages/memshade/src/show/report/terminal/common/paint.ts";
import { heapReport } from "../../packages/memshade/src/show/report/terminal/heap/heap-report.ts";
import { generatedHeap } from "../../packages/memshade/test/show/report/page/generated-heap.ts";

const KIB = 1024;
const template = readFileSync(
  fileURLToPath(new URL("../../packages/memshade/dist/report-page.html", import.meta.url)),
  "utf8",
);

interface Row {
  readonly what: string;
  readonly file: number;
  readonly deflated?: number;
  readonly text?: number;
  readonly page?: number;
  readonly decode?: number;
}

const rows: Row[] = [
  {
    what: "page without data",
    file: template.length,
    deflated: deflateRawSync(template, { level: 9 }).length,
  },
];
const [demo] = process.argv.slice(2);
if (demo !== undefined) {
  const html = readFileSync(demo);
  rows.push({ what: demo, file: html.length, deflated: deflateRawSync(html, { level: 9 }).length });
}
for (const [contexts, intervals] of [
  [10_000, 512],
  [1_000_000, 512],
] as const)
  rows.push(await measure(contexts, intervals));

console.log("| | file | deflated | text report | page | read again |");
console.log("| --- | ---: | ---: | ---: | ---: | ---: |");
for (const { what, file, deflated, text, page, decode } of rows)
  console.log(
    `| ${what} | ${inKib(file)} | ${inKib(deflated)} | ${inMs(text)} | ${inMs(page)} | ${inMs(decode)} |`,
  );

async function measure(contexts: number, intervals: number): Promise<Row> {
  const heap = withOwnSites(generatedHeap(contexts, intervals), new FrameRules());
  const tools = { heap };
  const input = "generated";
  const report = () => {
    const findings = runFindings(tools);
    return heapReport(heap, { paint: createPaint(false), width: 80, isWide: false, input, findings });
  };
  // A first report compiles the code that both reports use.
  report();
  const begin = processorMs();
  const plain = report();
  const reported = processorMs();
  const page = pageOfRun(tools, {
    input,
    findings: runFindings(tools, Number.POSITIVE_INFINITY),
    sources: "none",
    read: () => undefined,
  });
  const pieces = await pageFile(template, page, plain);
  const written = processorMs();
  const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const data = await encodePage(page);
  const encoded = processorMs();
  await decodePage(data);
  return {
    what: `${contexts.toLocaleString("en")} contexts, ${intervals} intervals`,
    file: size,
    text: reported - begin,
    page: written - reported,
    decode: processorMs() - encoded,
  };
}

function inKib(bytes: number | undefined): string {
  return bytes === undefined ? "" : `${(bytes / KIB).toFixed(0)} KiB`;
}

function inMs(time: number | undefined): string {
  return time === undefined ? "" : `${time.toFixed(0)} ms`;
}

/** Processor time, so that other work on the machine does not count. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
