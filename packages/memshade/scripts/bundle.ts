// Puts the modules of dist/ that Node loads together into few files, dist/bundle/: to find, read and link several
// hundred files takes longer than most of what the command is asked for.
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

/** What is loaded from outside, by its name in dist/bundle and its place among the sources. */
export const BUNDLE_ENTRIES: Readonly<Record<string, string>> = {
  main: "cli/main",
  index: "index",
  loader: "runtime/host/loader",
  unwinding: "unwinding",
};

/** Bundles what the compiler wrote to dist/. All entries share their modules, and with them classes and state. */
export async function bundle(): Promise<void> {
  const dist = fileURLToPath(new URL("../dist/", import.meta.url));
  const folder = `${dist}bundle/`;
  const input = Object.fromEntries(
    Object.entries(BUNDLE_ENTRIES).map(([name, module]) => [name, `${dist}${module}.js`]),
  );
  const build = await rolldown({
    input,
    platform: "node",
    external: (id) => !id.startsWith(".") && !id.startsWith(dist),
    plugins: [
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
  await build.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
  });
}
