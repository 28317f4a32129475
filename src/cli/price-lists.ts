/** What the commands on prices share: lists of the operator, wherever they are, and dollars as texts. */
import type { Config } from '../config/sections/file.ts'
import { fetchList, isAddress, readListFile } from '../config/prices/price-source.ts'
import type { OperatorList } from '../config/prices/operator-list.ts'
import type { PriceRow } from '../config/prices/price-rows.ts'

/** LiteLLM's own list (github.com/BerriAI/litellm), which it keeps up to date. */
export const publicList = 'https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json'

/** Reads a list at a path or an address, with the pins of `prices` if it is the configured one. */
export async function listAt(source: string, configured: Config['prices'], configFile: string | undefined) {
  const isConfigured = configured?.source === source
  const settings = isConfigured ? configured : { source }
  return isAddress(source)
    ? await fetchList(settings)
    : (readListFile(settings, isConfigured ? configFile : undefined) satisfies OperatorList)
}

/** `$2.50 for a million`. */
export function dollarsText({ dollars, per }: Pick<PriceRow, 'dollars' | 'per'>): string {
  const text = dollars.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 12 })
  return `$${text} ${per === 'million' ? 'for a million' : 'for one'}`
}
