/* Findings: advice with its price, warnings, remarks. */
import { accountColor, accountTitle } from "./accounts.ts";
import { el, swatch } from "./dom.ts";
import { filterTo, findingPasses, onFilterChange } from "./filter.ts";
import { formatFraction, formatNumber, formatTime } from "./format.ts";
import { goToStep } from "./links.ts";
import { Finding, Rank } from "./report.ts";

const STEPS_NAMED = 8;

function accountChip(rank: Rank, key: string): HTMLElement {
  return el(
    "button",
    {
      class: "chip",
      title: "Show only what belongs to this account",
      onclick: () => filterTo(rank, key),
    },
    swatch(accountColor(key)),
    accountTitle(rank, key),
  );
}

function stepLinks(steps: number[]): HTMLElement | null {
  if (steps.length === 0) return null;
  const named = steps.slice(0, STEPS_NAMED);
  const rest = steps.length - named.length;
  return el(
    "span",
    { class: "steps" },
    steps.length === 1 ? "step " : "steps ",
    ...named.map((step) =>
      el(
        "button",
        { class: "link", "data-step": step, onclick: () => goToStep(step) },
        String(step),
      ),
    ),
    rest > 0 ? ` and ${rest} more` : "",
  );
}

function priceOf(finding: Finding): HTMLElement | null {
  const share = finding.share_of_step ?? null;
  if (finding.cost_ns_per_step === null) return null;
  const price = el(
    "div",
    { class: "price" },
    el("strong", { "data-value": finding.cost_ns_per_step }, formatTime(finding.cost_ns_per_step)),
    el("span", {}, " per step"),
    share !== null ? el("span", { class: "share-bar" }, el("span", {})) : null,
    share !== null ? el("span", {}, formatFraction(share)) : null,
    finding.ceiling_speedup
      ? el("span", { class: "ceiling" }, `at most ${formatNumber(finding.ceiling_speedup)}×`)
      : null,
  );
  price.style.setProperty("--share", String(Math.min(1, share ?? 0)));
  return price;
}

/* What the replayed step is beside: how sure it is, or why it is faster than without that time
 * alone. */
function besideReplay(finding: Finding): string {
  const removal = 1 / (1 - Math.min(finding.share_of_step ?? 0, 0.999999));
  if (finding.replayed_most_speedup) {
    const most = formatNumber(finding.replayed_most_speedup);
    return (
      " at least, if the loader's processes share the core of the thread that launches; " +
      `${most}× if they have cores of their own`
    );
  }
  if ((finding.replayed_speedup ?? 0) > 1.005 * removal)
    return `: more than this time alone (${formatNumber(removal)}×): it takes hidden time, too`;
  return "";
}

function replayText(finding: Finding, change: string): string {
  if (!finding.replayed_step_ns || !finding.replayed_speedup)
    return `replayed with ${change}: not known, the replay is too far from the recording`;
  const step = formatTime(finding.replayed_step_ns);
  const speedup = formatNumber(finding.replayed_speedup);
  return `replayed with ${change}: ${step} a step, ${speedup}×${besideReplay(finding)}`;
}

function findingElement(rank: Rank | null, finding: Finding): HTMLElement {
  return el(
    "li",
    {
      class: `finding ${finding.is_warning ? "warning" : ""} ${finding.id ? "advice" : ""}`,
      id: finding.id ? `advice-${finding.id}` : null,
    },
    el(
      "div",
      { class: "what" },
      finding.is_warning ? el("span", { class: "badge" }, "warning") : null,
      el("h4", {}, finding.what),
    ),
    priceOf(finding),
    finding.evidence ? el("p", { class: "evidence" }, finding.evidence) : null,
    finding.change
      ? el("p", { class: "evidence replay" }, replayText(finding, finding.change))
      : null,
    finding.try
      ? el("p", { class: "try" }, el("span", { class: "label" }, "try"), finding.try)
      : null,
    finding.id && rank
      ? el(
          "div",
          { class: "links" },
          ...(finding.accounts ?? []).map((account) => accountChip(rank, account)),
          stepLinks(finding.steps ?? []),
          finding.confidence
            ? el(
                "span",
                { class: "confidence", title: finding.confidence_reason ?? null },
                `confidence ${finding.confidence}`,
              )
            : null,
        )
      : null,
  );
}

/* null where there are none. Those of other accounts are hidden while the page is filtered. */
export function findingList(rank: Rank | null, findings: Finding[]): HTMLElement | null {
  if (findings.length === 0) return null;
  const list = el("ul", { class: "findings" });
  for (const finding of findings) list.appendChild(findingElement(rank, finding));
  onFilterChange(() => {
    [...list.children].forEach((item, index) => {
      (item as HTMLElement).hidden = !findingPasses(findings[index]!);
    });
  });
  return list;
}
