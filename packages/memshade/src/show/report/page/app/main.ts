// Entry point of the page: decodes its data and renders it.
import { h, render } from "preact";
import { decodePage, PageDataError } from "../data/decode.ts";
import { Shell } from "./views/shell.ts";

async function show(place: HTMLElement): Promise<void> {
  try {
    const data = await decodePage(document.getElementById("data")!.textContent ?? "");
    render(h(Shell, { data }), place);
  } catch (error) {
    if (!(error instanceof PageDataError)) throw error;
    render(
      h("main", { class: "cannot-show" }, h("h1", null, "memshade"), h("p", null, error.message)),
      place,
    );
  }
}

void show(document.getElementById("app")!);
