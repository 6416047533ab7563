// First script of the page: inflates the page's styles and script and adds them. The file's content security
// policy names their hashes.
import { inflated } from "../data/inflate.ts";

async function start(): Promise<void> {
  try {
    for (const name of ["style", "script"]) {
      const element = document.createElement(name);
      const stored = document.getElementById(`app-${name}`)!.textContent;
      element.textContent = new TextDecoder().decode(await inflated(stored, "deflate"));
      document.head.append(element);
    }
  } catch {
    const place = document.getElementById("app")!;
    place.className = "cannot-show";
    place.textContent =
      "DecompressionStream" in globalThis
        ? "This report is damaged or truncated: write the report again."
        : "This browser is older than this report: every browser since 2023 can show it.";
  }
}

document.addEventListener("DOMContentLoaded", start);
