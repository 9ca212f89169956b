/* Reads src/ledger/account_list.def: what the accounts of the ledger are. */
import { readFileSync } from "node:fs";

const ENTRY = /^ACCOUNT\(\w+, (\w+), "([^"]+)", "([^"]+)", "([^"]+)",\s*"([^"]+)"\)/gm;

/* {"idle_data": {"group": "IDLE", "title", "definition", "advice"}} in the order of the list. */
export function readAccounts(path) {
  const text = readFileSync(path, "utf8");
  const accounts = {};
  for (const [, group, key, title, definition, advice] of text.matchAll(ENTRY))
    accounts[key] = { group, title, definition, advice };
  const lines = text.match(/^ACCOUNT\(/gm).length;
  if (Object.keys(accounts).length !== lines)
    throw new Error(`${path}: an ACCOUNT line is not understood`);
  return accounts;
}
