// Puts the modules of dist/ that Node loads together into few files, dist/bundle/: to find, read and link several
// hundred files takes longer than most of what the command is asked for.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

/** What is loaded from outside, by its name in dist/bundle and its place among the sources. */
export const BUNDLE_ENTRIES: Readonly<Record<string, string>> = {
  main: "cli/main",
  index: "index",
  loader: "host/loader",
  unwinding: "unwinding",
};

/** What web pages load, in one file each with all that it needs of packages: a page has no way to find these. */
export const PAGE_ENTRIES: Readonly<Record<string, string>> = {
  "page-loader": "host/loader",
};

/**
 * What shares nothing with the rest of a process, and is CommonJS, one file for what is always needed: that is loaded faster than modules, which
 * also load all that the modules of Node export, streams among them.
 */
const LONE_ENTRIES: Readonly<Record<string, string>> = {
  "quick-symbolize": "cli/quick-symbolize",
  "quick-unwind": "cli/quick-unwind",
};

/** Comments are half of the text, and reading over them takes time too. Names stay: stack traces show them. */
const WITHOUT_COMMENTS = { compress: false, mangle: false, codegen: { removeWhitespace: true } } as const;

const dist = fileURLToPath(new URL("../dist/", import.meta.url));
const folder = `${dist}bundle/`;

/** Bundles what the compiler wrote to dist/. All entries share their modules, and with them classes and state. */
export async function bundle(): Promise<void> {
  const lone = new Map(
    Object.entries(LONE_ENTRIES).map(([name, module]) => [`${dist}${module}.js`, `./${name}.cjs`]),
  );
  const shared = await open(BUNDLE_ENTRIES, lone);
  await shared.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    minify: WITHOUT_COMMENTS,
  });
  for (const [name, module] of Object.entries(PAGE_ENTRIES)) {
    const page = await openForPage(`${dist}${module}.js`);
    await page.write({ file: `${folder}${name}.js`, format: "esm", minify: WITHOUT_COMMENTS });
  }
  for (const [name, module] of Object.entries(LONE_ENTRIES)) {
    const alone = await open({ [name]: module }, new Map());
    await alone.write({
      dir: folder,
      format: "cjs",
      entryFileNames: "[name].cjs",
      chunkFileNames: `${name}-[name]-[hash].cjs`,
      minify: WITHOUT_COMMENTS,
    });
    prepareForLoad(`${folder}${name}.cjs`);
  }
}

/**
 * Prepares a file for `load` in bin/memshade.js. What the engine makes of it is kept under the hash in front. It takes
 * half the time to read where all characters are ASCII.
 */
function prepareForLoad(file: string): void {
  const source = readFileSync(file, "utf8").replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  const hash = createHash("sha256").update(source).digest("hex").slice(0, 16);
  writeFileSync(file, `//${hash}\n${source}`);
}

/** Everything behind a file, packages included. */
export function openForPage(file: string) {
  return rolldown({ input: file, platform: "browser" });
}

/** @param elsewhere modules that stay files of their own, with the paths of these */
function open(entries: Readonly<Record<string, string>>, elsewhere: ReadonlyMap<string, string>) {
  return rolldown({
    input: Object.fromEntries(Object.entries(entries).map(([name, module]) => [name, `${dist}${module}.js`])),
    platform: "node",
    // What is loaded later finds what it shares with an entry in the entry's own file.
    preserveEntrySignatures: "allow-extension",
    external: (id) => !id.startsWith(".") && !id.startsWith(dist),
    plugins: [
      {
        name: "modules-elsewhere",
        resolveId(source, importer) {
          if (importer === undefined || !source.startsWith(".")) return undefined;
          const id = elsewhere.get(resolve(dirname(importer), source));
          return id === undefined ? undefined : { id, external: true };
        },
      },
      {
        name: "module-places",
        // Threads and hooks are started from the files that the compiler wrote, beside the module that starts them.
        transform(code, id) {
          const place = JSON.stringify(relative(folder, id).replaceAll("\\", "/"));
          return code.includes("import.meta.url")
            ? code.replaceAll("import.meta.url", `new URL(${place}, import.meta.url).href`)
            : undefined;
        },
      },
    ],
  });
}
