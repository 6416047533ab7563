// Writes docs/report-json.md, with tables of the types that the sources declare.
import { writeFileSync } from "node:fs";
import { reportJsonPage } from "./report-json-page.ts";

writeFileSync(new URL("../../../docs/report-json.md", import.meta.url), reportJsonPage());
