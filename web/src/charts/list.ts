/* One line a chart, in the order in which they stand in their sections. */
import { Chart } from "./chart.ts";
import { collectives } from "./collectives.ts";
import { difference } from "./difference.ts";
import { kernelClasses } from "./kernel_classes.ts";
import { rankAccounts } from "./rank_accounts.ts";
import { roofline } from "./roofline.ts";
import { stepAccounts } from "./step_accounts.ts";
import { timeline } from "./timeline.ts";

export const charts: readonly Chart[] = [difference, stepAccounts, timeline, roofline, kernelClasses, collectives, rankAccounts];
