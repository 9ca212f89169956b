/* One line a chart, in the order in which they stand in their sections. */
import { Chart } from "./chart.ts";
import { collectives } from "./collectives.ts";
import { criticalPath } from "./critical_path.ts";
import { difference } from "./difference.ts";
import { kernelClasses } from "./kernel_classes.ts";
import { memoryCharts } from "./memory_kinds.ts";
import { planLayouts } from "./plan_layouts.ts";
import { rankAccounts } from "./rank_accounts.ts";
import { rankPath } from "./rank_path.ts";
import { rankSteps } from "./rank_steps.ts";
import { roofline } from "./roofline.ts";
import { stepAccounts } from "./step_accounts.ts";
import { memoryMap, timeline } from "./timeline.ts";
import { trees } from "./trees.ts";

export const charts: readonly Chart[] = [
  difference,
  stepAccounts,
  timeline,
  criticalPath,
  roofline,
  kernelClasses,
  collectives,
  planLayouts,
  rankAccounts,
  rankSteps,
  rankPath,
  ...memoryCharts,
  memoryMap,
  ...trees,
];
