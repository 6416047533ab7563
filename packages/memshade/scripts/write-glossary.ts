// Writes docs/glossary.md, from what `memshade explain` prints.
import { writeFileSync } from "node:fs";
import { glossaryPage } from "./glossary-page.ts";

writeFileSync(new URL("../../../docs/glossary.md", import.meta.url), glossaryPage());
