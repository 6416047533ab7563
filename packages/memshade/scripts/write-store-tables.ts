// Writes the tables of stores into docs/fleet.md, from the description of the tables.
import { readFileSync, writeFileSync } from "node:fs";
import { withStoreTables } from "./store-tables.ts";

const page = new URL("../../../docs/fleet.md", import.meta.url);
writeFileSync(page, withStoreTables(readFileSync(page, "utf8")));
