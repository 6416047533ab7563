/**
 * Compares unmodified npm packages in a profiled page and in a plain one: results must be equal, and the profile must have the same counts
 * as
 * `memshade node` over the same work, if the package runs there.
 * node bench/browser/compare.ts [PACKAGE]…
 * Prints the rows of the table in ../BROWSER.md. Needs Chromium (`CHROME_PATH`), `npm ci` and a built package.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { MEMSHADE, type Site, serve, tellPlain, tellProfiled } from "./pages.ts";

const FOLDER = fileURLToPath(new URL("packages/", import.meta.url));
const LIBRARIES = fileURLToPath(new URL("../../node_modules/", import.meta.url));

interface Package {
  /** Folder of the package, and its name on npm. */
  name: string;
  npm: string;
  how: string;
  isIsolated?: boolean;
  isBundled?: boolean;
  /** Script that does the same under Node. */
  node?: string;
}

const PACKAGES: readonly Package[] = [
  { name: "zxing", npm: "zxing-wasm", how: "page, ES module", node: "node.mjs" },
  { name: "jq", npm: "jq-web", how: "page, classic script", node: "node.cjs" },
  { name: "mediainfo", npm: "mediainfo.js", how: "page, bundled by Vite", isBundled: true, node: "node.mjs" },
  { name: "oxipng", npm: "@jsquash/oxipng", how: "page, wasm-bindgen", node: "node.mjs" },
  { name: "magick", npm: "@imagemagick/magick-wasm", how: "module worker", node: "node.mjs" },
  { name: "7z", npm: "7z-wasm", how: "worker from a blob", node: "node.cjs" },
  {
    name: "oxipng-threads",
    npm: "@jsquash/oxipng",
    how: "worker and 3 threads, bundled by Vite",
    isIsolated: true,
    isBundled: true,
  },
  { name: "avif-threads", npm: "@jsquash/avif", how: "page and a pthread per processor", isIsolated: true },
  { name: "stockfish", npm: "stockfish.wasm", how: "page and pthreads", isIsolated: true },
];

const FIGURES = ["allocations", "allocatedBytes", "peakBytes", "liveBlocks"] as const;

type Heap = Record<(typeof FIGURES)[number], number>;

/** Serves a package's page until it has reported its result. */
async function open({ name, isIsolated, isBundled }: Package): Promise<Site> {
  const root = join(FOLDER, name);
  const bundle = isBundled ? mkdtempSync(join(tmpdir(), "memshade-bundle-")) : undefined;
  if (bundle !== undefined)
    await build({
      root,
      logLevel: "error",
      worker: { format: "es" },
      build: { outDir: bundle, assetsInlineLimit: 0 },
    });
  const find = (path: string): string => {
    if (bundle !== undefined) return join(bundle, path === "/" ? "index.html" : path);
    return path.startsWith("/lib/") ? join(LIBRARIES, path.slice(5)) : join(FOLDER, path);
  };
  return serve(
    (path) => (existsSync(find(path)) ? readFileSync(find(path)) : undefined),
    isBundled ? "/" : `/${name}/page.html`,
    isIsolated,
  );
}

function heapOf(folder: string): { heap: Heap | undefined; notes: string[] } {
  const path = join(folder, "run.json");
  if (!existsSync(path)) return { heap: undefined, notes: ["no run"] };
  const { heap, notTracked } = JSON.parse(readFileSync(path, "utf8"));
  return { heap, notes: notTracked };
}

async function profiled(one: Package): Promise<{ told: string; heap: Heap | undefined; notes: string[] }> {
  const { told, folder } = await tellProfiled(await open(one));
  return { told, ...heapOf(folder) };
}

function underNode({ name, node }: Package): { told: string; heap: Heap | undefined } {
  const folder = join(mkdtempSync(join(tmpdir(), "memshade-node-")), "run");
  const script = join(FOLDER, name, node!);
  const args = [MEMSHADE, "node", "--quiet", "--out", folder, script];
  const told = execFileSync(process.execPath, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  return { told: told.trim(), heap: heapOf(folder).heap };
}

/** Figures that differ between page and Node, with both values. */
function differences(page: Heap | undefined, node: Heap | undefined): string {
  if (page === undefined || node === undefined) return "no profile";
  const differing = FIGURES.filter((figure) => page[figure] !== node[figure]);
  return differing.map((figure) => `${figure} ${page[figure]} / ${node[figure]}`).join(", ") || "the same";
}

const asked = process.argv.slice(2);
const rows: string[] = [];
for (const one of PACKAGES.filter(({ name }) => asked.length === 0 || asked.includes(name))) {
  const expected = await tellPlain(await open(one));
  const page = await profiled(one);
  const node = one.node === undefined ? undefined : underNode(one);
  const { version } = JSON.parse(readFileSync(join(LIBRARIES, one.npm, "package.json"), "utf8"));
  const isEqual = page.told === expected && !expected.startsWith("failed");
  rows.push(
    `| ${[
      `${one.npm} ${version}`,
      one.how,
      isEqual ? "equal" : "DIFFERENT",
      page.heap?.allocations.toLocaleString("en") ?? "–",
      node === undefined ? "does not run there" : differences(page.heap, node.heap),
    ].join(" | ")} |`,
  );
  console.log(rows.at(-1));
  if (!isEqual) console.log({ expected: expected.slice(0, 300), told: page.told.slice(0, 300) });
  if (node !== undefined && node.told !== expected.trim())
    console.log({ node: node.told.slice(0, 300), expected: expected.slice(0, 300) });
  if (page.notes.length > 0) console.log(page.notes);
}
