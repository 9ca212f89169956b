/* Made from the program's own files when the page is built. */
declare module "metric-pages" {
  export const pages: Record<string, { title: string; summary: string; html: string } | undefined>;
  export const names: Record<string, string | undefined>;
}

declare module "glossary" {
  export const words: Record<string, string | undefined>;
}

declare module "ledger-accounts" {
  export const accounts: Record<
    string,
    { group: string; title: string; definition: string; advice: string } | undefined
  >;
}
