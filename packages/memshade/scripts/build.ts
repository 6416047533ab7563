// Builds all files that are not in the repository: the code that runs inside profiled modules, then dist/ with the code for Node and web
// pages, the report page without its data, the types of each entry, and the JSON Schemas of reports.
import { copyFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const inPackage = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

await import("./build-shadow-runtime.ts");
rmSync(inPackage("dist"), { recursive: true, force: true });
const { bundle, bundleAgent } = await import("./bundle.ts");
await bundle();
await bundleAgent();
const { writeReportPage } = await import("./report-page.ts");
await writeReportPage();
const { writeTypes } = await import("./write-types.ts");
writeTypes();
const { writeJsonSchemas } = await import("./report-json-page.ts");
writeJsonSchemas();
const { writeNotices } = await import("./third-party.ts");
writeNotices();
// The package includes the licence of the repository.
copyFileSync(inPackage("../../LICENSE"), inPackage("LICENSE"));
