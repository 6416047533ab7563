// Entry point of the page: decodes its data and renders it.
import { h, render } from "preact";
import { decodePage, PageDataError } from "../data/decode.ts";
import { el } from "./parts/element.ts";
import { Shell } from "./views/shell.ts";

async function show(place: HTMLElement): Promise<void> {
  try {
    const data = await decodePage(document.getElementById("data")!.textContent ?? "");
    render(h(Shell, { data }), place);
  } catch (error) {
    if (!(error instanceof PageDataError)) throw error;
    render(el("main.cannot-show", el("h1", "memshade"), el("p", error.message)), place);
  }
}

void show(document.getElementById("app")!);
