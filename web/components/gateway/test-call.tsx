import { useMutation } from '@tanstack/react-query'
import { Play } from 'lucide-react'
import { ask } from '../../api/client.ts'
import type { ModelHealth } from '../../api/schema.d.ts'
import { explanationOf } from '../../lib/error-explanations.ts'
import { t } from '../../strings/index.ts'
import { Badge } from '../badge.tsx'
import { Button } from '../button.tsx'
import { ErrorState } from '../states.tsx'
import { Duration } from '../values.tsx'

/** A real call of one deployment, as the checks of its health make it; what fails is explained. */
export function TestCall({ id }: { readonly id: string }) {
  const test = useMutation({ mutationFn: () => ask('GET /health', { query: { model_id: id } }) })
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-3">
        <Button icon={<Play size={16} aria-hidden />} busy={test.isPending} onClick={() => test.mutate()}>
          {t('models.test')}
        </Button>
        <span className="text-muted">{t('models.testHelp')}</span>
      </div>
      <div aria-live="polite">
        {test.isError && <ErrorState error={test.error} isInline />}
        {test.data && <TestResult health={test.data} />}
      </div>
    </div>
  )
}

function TestResult({ health }: { readonly health: ModelHealth }) {
  const [well] = health.healthy_endpoints
  if (well)
    return (
      <span className="flex gap-2">
        <Badge tone="good">{t('models.answers')}</Badge> <Duration milliseconds={well.response_time_ms} />
      </span>
    )
  const [unwell] = health.unhealthy_endpoints
  if (unwell)
    return (
      <div className="flex flex-col gap-1">
        <Badge tone="bad">{t('models.fails')}</Badge>
        <span>{t(explanationOf(unwell.error_code))}</span>
        <span className="break-words text-muted">{unwell.error}</span>
      </div>
    )
  return <Badge>{health.unchecked_endpoints[0]?.reason ?? t('models.untested')}</Badge>
}
