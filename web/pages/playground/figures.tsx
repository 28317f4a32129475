import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { callQuery } from '../../api/calls.ts'
import { Duration, Money, Tokens } from '../../components/values.tsx'
import { formatSpeed } from '../../lib/format.ts'
import { t } from '../playground.page.ts'
import type { Run } from './use-runs.ts'

/** Of a shorter stream the speed says more of the network than of the model. */
const speedFromMs = 50

/** The call in the ledger, as it was charged; one that was stopped is settled a moment later. */
function useSettled({ callId, state, tookMs }: Run) {
  return useQuery({ ...callQuery(callId ?? '', tookMs ?? 0), enabled: callId !== null && state !== 'running' })
}

/** Time to the first token, speed, tokens and cost of one call: measured here, counted and priced by the gateway. */
export function Figures({ run }: { readonly run: Run }) {
  const call = useSettled(run).data
  const streamedMs = run.firstMs !== null && run.tookMs !== null ? run.tookMs - run.firstMs : null
  const output = call?.output_tokens ?? null
  const isMeasured = streamedMs !== null && streamedMs >= speedFromMs
  const speed = output !== null && isMeasured ? (output / streamedMs) * 1000 : null
  return (
    <div className="flex flex-col gap-2 border-t border-line pt-3">
      <dl className="grid grid-cols-2 gap-x-4 gap-y-1">
        <Figure name={t('playground.first')}>
          <Duration milliseconds={rounded(run.firstMs)} />
        </Figure>
        <Figure name={t('playground.took')}>
          <Duration milliseconds={rounded(run.tookMs)} />
        </Figure>
        <Figure name={t('playground.speed')}>
          {speed === null ? '–' : t('playground.perSecond', { count: formatSpeed(speed) })}
        </Figure>
        {call?.cache_hit_kind && (
          <Figure name={t('playground.cache')}>{t(`playground.cache.${call.cache_hit_kind}`)}</Figure>
        )}
        <Figure name={t('playground.cost')}>{call ? <Money usd={call.spend} /> : '–'}</Figure>
        <Figure name={t('playground.input')}>
          <Tokens count={call?.input_tokens} />
        </Figure>
        <Figure name={t('playground.output')}>
          <Tokens count={output} />
        </Figure>
      </dl>
      {call && (
        <Link to="/logs" search={{ call: call.request_id }} className="target underline">
          {t('playground.openLog')}
        </Link>
      )}
    </div>
  )
}

const rounded = (ms: number | null): number | null => (ms === null ? null : Math.round(ms))

function Figure({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="flex justify-between gap-2">
      <dt className="text-muted">{name}</dt>
      <dd className="numbers">{children}</dd>
    </div>
  )
}
