// Writes docs/glossary.md, with the text that `memshade explain` prints.
import { writeFileSync } from "node:fs";
import { glossaryPage } from "./glossary-page.ts";

writeFileSync(new URL("../../../docs/glossary.md", import.meta.url), glossaryPage());
