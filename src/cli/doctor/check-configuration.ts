/** The configuration: its mistakes and warnings, and the age of its prices. */
import { builtInList } from '../../config/prices/price-list.ts'
import { isAddress, pathOfSource } from '../../config/prices/price-source.ts'
import { readSettings } from '../../config/read-settings.ts'
import { textOfFile } from '../../config/reading/text-of-file.ts'
import { statSync } from 'node:fs'
import type { Environment } from '../../config/environment.ts'
import { countModels, modelCountText } from '../../config/model-counts.ts'
import { dayMs, systemClock } from '../../lib/clock.ts'
import { providers } from '../../providers/index.ts'
import { fine, problem, warning } from './finding.ts'
import type { Finding } from './finding.ts'

const about = 'configuration'
const pricesDaysMax = 30

/** Of a file, or of the environment where there is none. */
export function checkConfiguration(file: string | undefined, environment: Environment): Finding[] {
  try {
    const text = file === undefined ? undefined : textOfFile(file)
    const { mistakes, warnings, settings, config } = readSettings({ text, file, environment, providers })
    const found = mistakes.map(one => problem(about, one, 'modelgate check FILE lists all mistakes; mend the line'))
    found.push(...warnings.map(one => warning(about, one, 'mend the line, or leave it where it is meant so')))
    if (settings && found.length === 0) {
      const { models, more } = modelCountText(countModels(settings))
      found.push(fine(about, `${file ?? 'the environment'}: ${models}${more}`))
    }
    return [...found, ...checkPrices(config.prices, file)]
  } catch (error) {
    return [problem(about, (error as Error).message, 'name the file with --config or MODELGATE_CONFIG')]
  }
}

function checkPrices(prices: { readonly source: string } | undefined, file: string | undefined): Finding[] {
  const [day] = /^\d{4}-\d\d-\d\d/.exec(builtInList().version) ?? []
  const builtIn = day === undefined ? undefined : Date.parse(day)
  const own = prices === undefined || isAddress(prices.source) ? undefined : modifiedMs(pathOfSource(prices, file))
  // A list at an address is brought while the gateway runs.
  if (prices !== undefined && isAddress(prices.source)) return [fine('prices', `brought from ${prices.source}`)]
  const newestMs = Math.max(builtIn ?? 0, own ?? 0)
  const days = Math.floor((systemClock.epochMs() - newestMs) / dayMs)
  if (days <= pricesDaysMax) return [fine('prices', `${days} days old`)]
  return [
    warning(
      'prices',
      `the newest list is ${days} days old; models that came since cost nothing known`,
      'modelgate prices update, or `prices.source` with an address in the configuration',
    ),
  ]
}

function modifiedMs(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs
}
