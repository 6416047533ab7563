// Builds what is not in the repository: the code that runs inside profiled modules, then dist/.
import { spawnSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const inPackage = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const typescript = createRequire(import.meta.url).resolve("typescript/bin/tsc");

await import("./build-shadow-runtime.ts");

rmSync(inPackage("dist"), { recursive: true, force: true });
const { status } = spawnSync(process.execPath, [typescript, "-p", inPackage("tsconfig.build.json")], {
  stdio: "inherit",
});
if (status === 0) await (await import("./bundle.ts")).bundle();
// The package carries the licence of the repository.
copyFileSync(inPackage("../../LICENSE"), inPackage("LICENSE"));
process.exitCode = status ?? 1;
