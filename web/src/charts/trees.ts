/* The trees of the report: modules by what they cost, memory at its peak, calls. */
import { formatValue } from "../format.ts";
import { memoryColor } from "../memory_colors.ts";
import { cellNumber, cellText, Row, Table } from "../report.ts";
import { TableName, tableIn } from "../sections.ts";
import { Chart, ChartContext } from "./chart.ts";
import { TreeMetric, TreeNode, TreeView } from "./tree_view.ts";

/* How a number of a row is read. */
interface Measure {
  key: string;
  title: string;
  unit: string;
  columns: string[]; /* that add up */
}

/* Rows of a table whose depth says what lies in what, with sums that hold what lies in them. */
function treeOfRows(
  table: Table,
  nameColumn: string,
  detailColumn: string,
  measure: Measure,
): TreeNode | null {
  const valueOf = (row: Row) =>
    measure.columns.reduce((sum, column) => sum + Math.max(cellNumber(row, column) ?? 0, 0), 0);
  const all: TreeNode = { name: "all", value: 0, children: [] };
  const open: TreeNode[] = [all];
  const names = new Map<TreeNode, string>(); /* in full */
  for (const row of table.rows) {
    open.length = Math.min(row.depth + 1, open.length);
    const around = open[open.length - 1]!;
    const node: TreeNode = {
      name: ownName(cellText(row, nameColumn), names.get(around) ?? ""),
      detail: cellText(row, detailColumn),
      value: valueOf(row),
      children: [],
    };
    names.set(node, cellText(row, nameColumn));
    around.children.push(node);
    open.push(node);
  }
  all.value = all.children.reduce((sum, child) => sum + child.value, 0);
  raise(all);
  if (all.value <= 0) return null;
  const used = all.children.filter((child) => child.value > 0);
  return used.length === 1 ? used[0]! : all;
}

/* "layers.0.up" in "layers.0" is "up". */
function ownName(name: string, around: string): string {
  return around && name.startsWith(`${around}.`) ? name.slice(around.length + 1) : name;
}

/* A module that is not called itself may have less than those in it. */
function raise(node: TreeNode): void {
  for (const child of node.children) raise(child);
  node.value = Math.max(
    node.value,
    node.children.reduce((sum, child) => sum + child.value, 0),
  );
}

function metricsOf(
  table: Table,
  nameColumn: string,
  detailColumn: string,
  measures: Measure[],
): TreeMetric[] {
  return measures
    .map((measure) => ({
      key: measure.key,
      title: measure.title,
      format: (value: number) => formatValue(value, measure.unit),
      build: () => treeOfRows(table, nameColumn, detailColumn, measure),
    }))
    .filter((metric) => metric.build() !== null);
}

/* Of dotted names: "model.layers.0.mlp". */
function addByPath(parent: TreeNode, path: string, value: number): void {
  let node = parent;
  for (const part of path.split(".")) {
    let next = node.children.find((child) => child.name === part);
    if (!next) {
      next = { name: part, value: 0, children: [] };
      node.children.push(next);
    }
    next.value += value;
    node = next;
  }
}

/* Memory at the peak: what kind it is, and in it the modules it belongs to. */
function treeOfComposition(table: Table): TreeNode | null {
  const all: TreeNode = { name: "peak", value: 0, children: [] };
  for (const row of table.rows) {
    const kind = cellText(row, "kind");
    const bytes = cellNumber(row, "bytes") ?? 0;
    let branch = all.children.find((child) => child.name === kind);
    if (!branch) {
      branch = { name: kind, value: 0, children: [], color: memoryColor(kind) };
      all.children.push(branch);
    }
    branch.value += bytes;
    all.value += bytes;
    const module = cellText(row, "module");
    addByPath(branch, module.startsWith("(") ? module.replace(/\./g, " ") : module, bytes);
  }
  all.children.sort((a, b) => b.value - a.value);
  return all.value > 0 ? all : null;
}

interface TreeChart {
  name: string;
  reads: TableName;
  title: string;
  metrics(table: Table): TreeMetric[];
}

const time = (key: string, title: string, columns: string[]): Measure => ({
  key,
  title,
  unit: "ns",
  columns,
});
const bytes = (key: string, title: string): Measure => ({
  key,
  title,
  unit: "bytes",
  columns: [key],
});

const TREES: TreeChart[] = [
  {
    name: "module_costs",
    reads: ["module_cost", "modules"],
    title: "Modules by what they cost",
    metrics: (table) =>
      metricsOf(table, "name", "class", [
        {
          key: "flops",
          title: "FLOPs, forward and backward",
          unit: "flop",
          columns: ["forward_flops", "backward_flops", "recomputed_flops"],
        },
        {
          key: "forward_flops",
          title: "FLOPs of the forward",
          unit: "flop",
          columns: ["forward_flops"],
        },
        { key: "parameters", title: "parameters", unit: "count", columns: ["parameters"] },
        time("device_time", "time on the device", ["device_time"]),
        time("host_time", "time on the host, forward and backward", [
          "forward_latency",
          "backward_latency",
          "recompute_latency",
        ]),
        bytes("bytes", "bytes read and written"),
      ]),
  },
  {
    name: "memory_composition",
    reads: ["memory_modules", "composition"],
    title: "Memory at the peak, by kind and module",
    metrics: (table) => {
      const metric: TreeMetric = {
        key: "bytes",
        title: "bytes",
        format: (value) => formatValue(value, "bytes"),
        build: () => treeOfComposition(table),
      };
      return metric.build() ? [metric] : [];
    },
  },
  {
    name: "memory_modules",
    reads: ["memory_modules", "modules"],
    title: "Memory of modules",
    metrics: (table) =>
      metricsOf(table, "module", "", [
        bytes("peak", "bytes at the peak"),
        bytes("parameters", "parameters"),
        bytes("gradients", "gradients"),
        bytes("optimizer_state", "optimizer state"),
        bytes("activations", "activations"),
        bytes("temporaries", "temporaries"),
        bytes("forward_end", "bytes at the end of the forward"),
      ]),
  },
  {
    name: "snapshot_calls",
    reads: ["snapshot_peak", "calls"],
    title: "Memory at the peak, by call",
    metrics: (table) => metricsOf(table, "call", "file", [bytes("bytes", "bytes")]),
  },
];

function tableFor(context: ChartContext, tree: TreeChart): Table | undefined {
  return tableIn(context.section, tree.reads);
}

function chartOf(tree: TreeChart): Chart {
  return {
    name: tree.name,
    section: tree.reads[0],
    title: tree.title,
    table: tree.reads[1],
    has(context) {
      const table = tableFor(context, tree);
      return table !== undefined && table.rows.length > 1 && tree.metrics(table).length > 0;
    },
    describe(context) {
      const metric = tree.metrics(tableFor(context, tree)!)[0]!;
      const root = metric.build()!;
      const parts = root.children.length;
      return `${root.name}: ${metric.format(root.value)} of ${metric.title}, in ${parts} parts.`;
    },
    draw: (host, context) => new TreeView(host, tree.name, tree.metrics(tableFor(context, tree)!)),
  };
}

export const trees: readonly Chart[] = TREES.map(chartOf);
