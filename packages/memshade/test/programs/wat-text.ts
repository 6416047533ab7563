import { readFileSync, writeFileSync } from "node:fs";
import { wat } from "../support/assemble.ts";

// Compiles a module in the text format: node wat-text.ts SOURCE TARGET
const [source, target] = process.argv.slice(2) as [string, string];
writeFileSync(target, wat(readFileSync(source, "utf8"), source));
