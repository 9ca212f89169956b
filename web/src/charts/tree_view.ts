/* A tree whose parts add up, as rings (sunburst) or as boxes (treemap): a click goes into a part,
 * the path leads back, and the keyboard does the same. */
import type { EChartsOption } from "echarts";
import { use } from "echarts/core";
import { SunburstChart, TreemapChart } from "echarts/charts";
import { el, replace } from "../dom.ts";
import { formatFraction } from "../format.ts";
import { color } from "../theme.ts";
import { DrawnChart } from "./chart.ts";
import { chartIn, drawEchart, tooltip, tooltipContent } from "./echarts.ts";

use([SunburstChart, TreemapChart]);

const HEIGHT = 420;
const RINGS = 5; /* shown at once */
const LABEL_FROM = 7; /* degrees */
const PARTS_MAX = 400; /* shapes drawn at once, about: the smallest are put together */

export interface TreeNode {
  name: string;
  detail?: string; /* a second line: the class of a module */
  value: number;
  color?: string;
  children: TreeNode[];
}

export interface TreeMetric {
  key: string;
  title: string;
  format(value: number): string;
  /* NULL where nothing of it is known. */
  build(): TreeNode | null;
}

type Shape = "sunburst" | "treemap";

/* What the reader chose stays when the chart is drawn again. */
interface Choice {
  metric: string;
  shape: Shape;
  path: string[];
}
const choices = new Map<string, Choice>();

const PALETTE = [
  "#4c78a8",
  "#59a14f",
  "#b07aa1",
  "#e0913a",
  "#5aa7a7",
  "#c25b5b",
  "#8c7a4f",
  "#7d8fb3",
];

/* Of a branch all have the colour of its first part, the deeper the paler; the parts of one that is
 * nearly all of it have colours of their own. */
const NEARLY_ALL = 0.6;

function colored(
  node: TreeNode,
  base: string,
  depth: number,
  whole: number,
): Record<string, unknown> {
  const fill = node.color ?? base;
  const isNearlyAll = node.value > NEARLY_ALL * whole && !node.color && node.children.length > 1;
  return {
    name: node.name,
    value: node.value,
    node,
    itemStyle: { color: fill, opacity: Math.max(1 - depth * 0.1, 0.55) },
    children: node.children.map((child, index) =>
      colored(
        child,
        isNearlyAll ? PALETTE[(index + 1) % PALETTE.length]! : fill,
        isNearlyAll ? 0 : depth + 1,
        whole,
      ),
    ),
  };
}

function depthOf(node: TreeNode): number {
  return 1 + Math.max(0, ...node.children.map(depthOf));
}

function countNodes(node: TreeNode): number {
  return 1 + node.children.reduce((sum, child) => sum + countNodes(child), 0);
}

/* Children with less than a share of the whole become one. */
function pruned(node: TreeNode, least: number, depth: number): TreeNode {
  const kept = depth >= RINGS ? [] : node.children.filter((child) => child.value >= least);
  const rest =
    depth >= RINGS ? [] : node.children.filter((child) => child.value > 0 && child.value < least);
  const restValue = rest.reduce((sum, child) => sum + child.value, 0);
  const children = kept.map((child) => pruned(child, least, depth + 1));
  if (restValue > 0 && kept.length > 0)
    children.push({
      name: `${rest.length} smaller`,
      value: restValue,
      children: [],
      color: color("--line-strong"),
    });
  return { ...node, children };
}

function fitting(node: TreeNode): TreeNode {
  for (let share = 0.0005; ; share *= 3) {
    const small = pruned(node, node.value * share, 0);
    if (countNodes(small) <= PARTS_MAX) return small;
  }
}

export class TreeView implements DrawnChart {
  private readonly tools = el("div", { class: "tree-tools" });
  private readonly path = el("nav", { class: "tree-path", "aria-label": "Path in the tree" });
  private readonly plot = el("div", {
    class: "tree-plot",
    tabindex: "0",
    role: "application",
    "aria-label":
      "Tree. Keys: left and right choose a part, Enter or down goes into it, up goes back.",
  });
  private readonly status = el("p", { class: "tree-status", role: "status" });
  private readonly choice: Choice;
  private readonly metrics: TreeMetric[];
  private drawn: DrawnChart | null = null;
  private marked = -1;

  constructor(host: HTMLElement, name: string, metrics: TreeMetric[]) {
    this.metrics = metrics;
    this.choice = choices.get(name) ?? { metric: metrics[0]!.key, shape: "sunburst", path: [] };
    choices.set(name, this.choice);
    if (!metrics.some((metric) => metric.key === this.choice.metric))
      this.choice.metric = metrics[0]!.key;
    host.setAttribute("role", "group");
    host.append(this.tools, this.path, this.plot, this.status);
    this.plot.addEventListener("keydown", (event) => this.key(event));
    this.fillTools();
    this.draw();
  }

  resize(): void {
    this.drawn?.resize?.();
  }

  dispose(): void {
    this.drawn?.dispose();
  }

  private get metric(): TreeMetric {
    return this.metrics.find((metric) => metric.key === this.choice.metric)!;
  }

  private fillTools(): void {
    const choose = el("select", {
      "aria-label": "What the parts show",
      onchange: () => {
        this.choice.metric = this.metrics[choose.selectedIndex]!.key;
        this.draw();
      },
    });
    for (const metric of this.metrics)
      choose.appendChild(
        el("option", { selected: metric.key === this.choice.metric }, `by ${metric.title}`),
      );
    const shape = (kind: Shape, title: string) =>
      el(
        "button",
        {
          type: "button",
          class: "quiet",
          "data-shape": kind,
          "aria-pressed": String(this.choice.shape === kind),
          onclick: () => {
            this.choice.shape = kind;
            this.fillTools();
            this.draw();
          },
        },
        title,
      );
    replace(this.tools, choose, shape("sunburst", "rings"), shape("treemap", "boxes"));
  }

  /* From the outermost part to the one shown; the choice may name one that this metric has not. */
  private trail(): TreeNode[] {
    const root = this.metric.build() ?? { name: "", value: 0, children: [] };
    const trail = [root];
    for (const name of this.choice.path) {
      const next = trail[trail.length - 1]!.children.find((child) => child.name === name);
      if (!next) break;
      trail.push(next);
    }
    this.choice.path = trail.slice(1).map((node) => node.name);
    return trail;
  }

  private goTo(path: string[]): void {
    this.choice.path = path;
    this.draw();
  }

  private enter(node: TreeNode): void {
    const trail = this.trail();
    const way = wayTo(trail[trail.length - 1]!, node);
    const last = way[way.length - 1];
    if (!last) return;
    const names = way.map((step) => step.name);
    this.goTo([...this.choice.path, ...(last.children.length > 0 ? names : names.slice(0, -1))]);
  }

  private draw(): void {
    const trail = this.trail();
    const shown = trail[trail.length - 1]!;
    this.marked = -1;
    this.drawn?.dispose();
    this.plot.replaceChildren();
    replace(
      this.path,
      ...trail.map((node, index) =>
        el(
          "button",
          {
            type: "button",
            class: "link",
            "aria-current": index === trail.length - 1 ? "true" : null,
            onclick: () => this.goTo(this.choice.path.slice(0, index)),
          },
          node.name,
        ),
      ),
      el("span", { class: "tree-value" }, this.metric.format(shown.value)),
    );
    this.drawn = drawEchart(this.plot, {
      height: HEIGHT,
      option: this.option(shown, trail[0]!),
      onclick: (event) => this.click(event),
    });
    this.tell(shown);
  }

  private click(event: unknown): void {
    const { data, treePathInfo } = event as {
      data?: { node?: TreeNode };
      treePathInfo?: { name: string }[];
    };
    if (data?.node) this.enter(data.node);
    else if (treePathInfo && this.choice.path.length > 0) this.goTo(this.choice.path.slice(0, -1));
  }

  private option(shown: TreeNode, root: TreeNode): EChartsOption {
    const fitted = fitting(shown);
    const parts = fitted.children.filter((child) => child.value > 0);
    const data = parts.map((child, index) =>
      colored(child, PALETTE[index % PALETTE.length]!, 0, shown.value),
    );
    const ring =
      ((Math.min(this.plot.clientWidth, HEIGHT) / 2) * 0.82) / Math.max(depthOf(fitted) - 1, 1);
    const tip = tooltip((parameters) => {
      const { data: part, name } = parameters as { data?: { node?: TreeNode }; name: string };
      const node = part?.node ?? shown;
      return tooltipContent(
        name || shown.name,
        [
          [null, this.metric.title, this.metric.format(node.value)],
          [
            null,
            `of ${shown.name}`,
            formatFraction(shown.value > 0 ? node.value / shown.value : 0),
          ],
          ...(root === shown
            ? []
            : [
                [null, "of all", formatFraction(root.value > 0 ? node.value / root.value : 0)] as [
                  null,
                  string,
                  string,
                ],
              ]),
        ],
        node.detail ?? "",
      );
    });
    const label = { color: "#fff", fontSize: 11, overflow: "truncate", textBorderWidth: 0 };
    const border = { borderColor: color("--card"), borderWidth: 1 };
    const common = { id: "tree", data, label, itemStyle: border, nodeClick: false };
    const series =
      this.choice.shape === "sunburst"
        ? {
            ...common,
            type: "sunburst",
            radius: ["16%", "98%"],
            sort: undefined,
            label: {
              ...label,
              minAngle: LABEL_FROM,
              rotate: "radial",
              width: Math.max(ring - 6, 16),
            },
            emphasis: { focus: "ancestor" },
          }
        : {
            ...common,
            type: "treemap",
            roam: false,
            width: "100%",
            height: "100%",
            breadcrumb: { show: false },
            upperLabel: { show: true, height: 18, color: color("--text"), fontSize: 11 },
            levels: [
              { itemStyle: { gapWidth: 3 } },
              { itemStyle: { gapWidth: 1, borderWidth: 1, borderColor: color("--line-strong") } },
            ],
          };
    return { tooltip: tip, series: [series] } as EChartsOption;
  }

  private tell(node: TreeNode): void {
    const parts = node.children
      .filter((child) => child.value > 0)
      .sort((a, b) => b.value - a.value);
    const first = parts
      .slice(0, 3)
      .map(
        (child) => `${child.name} ${formatFraction(node.value > 0 ? child.value / node.value : 0)}`,
      );
    const others = parts.length > first.length ? " and others" : "";
    const inside = first.length > 0 ? `; ${first.join(", ")}${others}` : "";
    this.status.textContent = `${node.name}: ${this.metric.format(node.value)}${inside}`;
  }

  private key(event: KeyboardEvent): void {
    const trail = this.trail();
    const parts = trail[trail.length - 1]!.children.filter((child) => child.value > 0);
    const mark = (by: number) => {
      if (parts.length === 0) return;
      this.marked = (this.marked + by + parts.length) % parts.length;
      const part = parts[this.marked]!;
      const detail = part.detail ? `, ${part.detail}` : "";
      this.status.textContent = `${part.name}: ${this.metric.format(part.value)}${detail}`;
      const chart = chartIn(this.plot);
      chart?.dispatchAction({ type: "downplay", seriesIndex: 0 });
      chart?.dispatchAction({ type: "highlight", seriesIndex: 0, name: part.name });
    };
    const actions: Record<string, () => void> = {
      ArrowRight: () => mark(this.marked < 0 ? parts.length + 1 : 1),
      ArrowLeft: () => mark(-1),
      ArrowDown: () => parts[this.marked] && this.enter(parts[this.marked]!),
      Enter: () => parts[this.marked] && this.enter(parts[this.marked]!),
      ArrowUp: () => this.goTo(this.choice.path.slice(0, -1)),
      Backspace: () => this.goTo(this.choice.path.slice(0, -1)),
    };
    const act = actions[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
    this.plot.focus();
  }
}

/* From below `from` to the part that was clicked; its copy may have lost small children. */
function wayTo(from: TreeNode, wanted: TreeNode): TreeNode[] {
  for (const child of from.children) {
    if (
      child.name === wanted.name &&
      child.value === wanted.value &&
      child.detail === wanted.detail
    )
      return [child];
    const way = wayTo(child, wanted);
    if (way.length > 0) return [child, ...way];
  }
  return [];
}
