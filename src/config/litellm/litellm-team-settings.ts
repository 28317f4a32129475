/**
 * `default_team_settings` of LiteLLM: callbacks of single teams, and the budget of new teams in its first entry, where
 * `default_team_params` does not say it.
 */
import { isObject } from '../../lib/json/json-values.ts'
import type { Finding } from '../reading/reading.ts'

const noCallbacks =
  'has no effect here but for `max_budget` of its first entry: read calls in the ledger (GET /spend/logs), in the ' +
  'log and in /metrics, each with its team'

/** The file in our names, with the budget in `default_team_params`. */
export function withTeamSettings(file: unknown, warnings: Finding[]): unknown {
  if (!isObject(file) || !isObject(file.settings) || !Array.isArray(file.settings.default_team_settings)) return file
  const { default_team_settings: teams, ...settings } = file.settings
  const [first] = teams as unknown[]
  const { max_budget: budget, ...others } = isObject(first) ? first : {}
  if ((teams as unknown[]).length > 1 || Object.keys(others).length > 0)
    warnings.push({ path: ['settings', 'default_team_settings'], message: noCallbacks, atKey: true })
  const given = isObject(settings.default_team_params) ? settings.default_team_params : {}
  const isNeeded = typeof budget === 'number' && given.max_budget == null
  return {
    ...file,
    settings: { ...settings, ...(isNeeded && { default_team_params: { ...given, max_budget: budget } }) },
  }
}
