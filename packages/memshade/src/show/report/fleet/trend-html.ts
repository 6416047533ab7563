import { dayOf } from "../../../explain/fleet/day.ts";
import type { Trend, TrendStep } from "../../../explain/fleet/trend.ts";
import { meanOf } from "../../../explain/fleet/welch.ts";
import { plural } from "../../../profile/model/format.ts";
import { printableHtml } from "../../../profile/model/printable.ts";
import {
  amountInWords,
  differenceInWords,
  factorInWords,
  noiseInWords,
  placesInWords,
  shortBuild,
  unchangedInWords,
} from "./words.ts";

const STYLE = `
:root { color-scheme: light dark; --fore: light-dark(#1c2024, #e6e8ea); --back: light-dark(#fff, #16191c);
  --faint: light-dark(#596168, #a0a8b0); --bar: light-dark(#3b6fb6, #6ea3ea); --step: light-dark(#b3401a, #f0906a); }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--fore); background: var(--back); margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } td, th { padding: .15rem .5rem; text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.bar { width: 45%; } td.bar span { display: block; height: .9rem; min-width: 1px; background: var(--bar); border-radius: 2px; }
tr.step td.bar span { background: var(--step); } .faint { color: var(--faint); } .failed { color: var(--step); font-weight: 600; }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; } a { color: inherit; }
td.build { min-width: 6rem; } td.day { white-space: nowrap; } @media (max-width: 34rem) { .day { display: none; } td, th { padding: .15rem .3rem; } }
`;

/** A trend as one HTML file that needs nothing else. */
export function trendHtml(trend: Trend): string {
  const { project, measure, builds, steps, failed, notes } = trend;
  const most = Math.max(...builds.map(({ samples }) => meanOf(samples)));
  const runs = builds.reduce((sum, { samples }) => sum + samples.count, 0);
  const rows = builds.map(({ build, time, samples }, at) => {
    const step = steps.find((candidate) => candidate.at === at);
    const mean = meanOf(samples);
    return `<tr${step === undefined ? "" : ' class="step"'}><td class="build"><code>${printableHtml(shortBuild(build))}</code></td><td class="faint day">${dayOf(time)}</td>
<td class="number">${samples.count}</td><td class="number">${amountInWords(measure, mean)}</td>
<td class="bar"><span style="width:${most === 0 ? 0 : ((100 * mean) / most).toFixed(2)}%"></span></td>
<td class="number">${step === undefined ? "" : `<a href="#step-${at}">${differenceInWords(measure, step)}</a>`}</td></tr>`;
  });
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${printableHtml(project)}: ${measure.title}</title><style>${STYLE}</style></head><body>
<h1>${printableHtml(project)}: ${measure.title}</h1>
<p class="faint">${plural(builds.length, "build")}, ${plural(runs, "run")}, the newest last.</p>
${failed.map(({ limit, build, growth }) => `<p class="failed">${printableHtml(limit.text)} failed at ${printableHtml(shortBuild(build))}: ${amountInWords(limit.measure, growth)} more than the build before.</p>`).join("\n")}
<table><thead><tr><th>build</th><th class="day">day</th><th class="number">runs</th><th class="number">mean</th><th></th><th class="number">change</th></tr></thead>
<tbody>${rows.join("\n")}</tbody></table>
${steps.length === 0 ? `<p>${unchangedInWords(trend)}</p>` : ""}
${steps.map((step) => stepHtml(trend, step)).join("\n")}
${notes.map((note) => `<p class="faint">${printableHtml(note)}</p>`).join("\n")}
</body></html>
`;
}

function stepHtml({ builds, measure }: Trend, step: TrendStep): string {
  const places = placesInWords(step.parts.map(({ frames }) => frames));
  const rows = step.parts.map(
    (part, at) =>
      `<tr><td class="number">${differenceInWords(measure, part)}</td><td class="number">${factorInWords(part)}</td>
<td class="number faint">${noiseInWords(part)}</td><td><code>${printableHtml(places[at]!)}</code></td><td class="faint">${part.matched}</td></tr>`,
  );
  return `<h2 id="step-${step.at}"><code>${printableHtml(shortBuild(builds[step.at]!.build))}</code>: ${differenceInWords(measure, step)} (${factorInWords(step)}, ${noiseInWords(step)})</h2>
<table><thead><tr><th class="number">change</th><th class="number">factor</th><th class="number">noise</th><th>place</th><th>matched</th></tr></thead><tbody>${rows.join("\n")}</tbody></table>`;
}
