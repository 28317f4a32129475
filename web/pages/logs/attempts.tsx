/** Why a call failed, and what each of its attempts came to. */
import type { SpendLog } from '../../api/schema.d.ts'
import { Badge, Tag } from '../../components/badge.tsx'
import { Duration } from '../../components/values.tsx'
import type { WaterfallRow } from '../../components/charts/waterfall.tsx'
import { formatDuration } from '../../lib/format.ts'
import { t } from '../logs.page.ts'

/** One attempt of a call that failed, or that needed more than one. */
export type Attempt = NonNullable<SpendLog['attempt_list']>[number]

/** The names that people gave: the public one, and the provider with its own. */
const attemptName = ({ model, provider, upstream_model: upstream }: Attempt): string =>
  `${model} → ${upstream === null ? provider : `${provider}/${upstream}`}`

/** The attempts on the common time of their call. */
export const attemptSteps = (attempts: readonly Attempt[]): WaterfallRow[] =>
  attempts.map((one, at) => ({
    name: t('logs.attempt', { number: at + 1 }),
    label: t('logs.attempt', { number: at + 1 }),
    startMs: one.started_ms,
    endMs: one.started_ms + one.duration_ms,
    tone: one.error_kind === null ? 'good' : 'bad',
  }))

/** The sentence that the client was answered with, whole and to be read by keyboard; nothing for a call without one. */
export function FailureReason({ call }: { readonly call: SpendLog }) {
  if (call.error_kind === null) return null
  return (
    <section aria-label={t('logs.reason')} className="flex flex-col gap-1 border-l-2 border-bad pl-3">
      <p dir="auto" lang="en" className="break-words whitespace-pre-wrap">
        {call.error_message ?? t(call.outcome === 'interrupted' ? 'logs.reasonLost' : 'logs.reasonNotKept')}
      </p>
      <p className="flex flex-wrap items-center gap-2 text-muted">
        <Tag>{call.error_kind}</Tag>
      </p>
    </section>
  )
}

/** Each attempt: where, how it ended, in whose words, when and how long. */
export function Attempts({ attempts }: { readonly attempts: readonly Attempt[] }) {
  return (
    <section aria-label={t('logs.attempts')}>
      <ol className="flex flex-col">
        {attempts.map((one, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the list of a call never changes
          <li key={at} className="flex min-w-0 flex-col gap-1 border-b border-line py-2">
            <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
              <span className="numbers text-muted">{at + 1}</span>
              <span className="min-w-0 break-words font-medium" title={one.deployment_id} dir="auto">
                {attemptName(one)}
              </span>
            </span>
            <span className="flex flex-wrap items-center gap-x-3 gap-y-1 text-muted">
              <Badge tone={one.error_kind === null ? 'good' : 'bad'}>
                <span className="numbers">{one.status ?? t('logs.noStatus')}</span>
              </Badge>
              {one.error_kind && <Tag>{one.error_kind}</Tag>}
              <span>{t('logs.attemptStart', { after: formatDuration(one.started_ms) })}</span>
              <Duration milliseconds={one.duration_ms} />
            </span>
            {one.error_message && (
              <p dir="auto" lang="en" className="break-words whitespace-pre-wrap">
                {one.error_message}
              </p>
            )}
          </li>
        ))}
      </ol>
    </section>
  )
}
