/** The budgets nearest to their limit, for metrics: asked of the survey behind a scrape, and never waited for. */
import type { BudgetSettings, BudgetSurvey } from '../core/tenancy/budgets.ts'
import type { Clock } from '../lib/clock.ts'
import type { NearBudget } from '../telemetry/prometheus.ts'

const shownMax = 20
const keptMs = 30_000

/** Gives what was found last, and looks anew where that is older than 30 seconds. */
export function nearestBudgets(
  survey: BudgetSurvey,
  settings: () => BudgetSettings,
  clock: Pick<Clock, 'monotonicMs'>,
): () => readonly NearBudget[] {
  let found: readonly NearBudget[] = []
  let askedMs = -Infinity
  return () => {
    if (clock.monotonicMs() - askedMs >= keptMs) {
      askedMs = clock.monotonicMs()
      survey.all(settings()).then(
        ({ budgets }) => {
          found = budgets.slice(0, shownMax).map(({ kind, id, name, model, share }) => ({
            kind,
            id,
            name,
            model,
            leftRatio: Math.max(1 - share, 0),
          }))
        },
        // The database is away, which a metric of its own says: what was found before stays.
        () => {},
      )
    }
    return found
  }
}
