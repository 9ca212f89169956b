/* Made from docs/metrics when the page is built. */
declare module "metric-pages" {
  export const pages: Record<string, { title: string; summary: string; html: string } | undefined>;
  export const names: Record<string, string | undefined>;
}
