import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ChevronDown, ChevronUp } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { callQuery } from '../../api/calls.ts'
import type { SpendLog } from '../../api/schema.d.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { CodeBlock } from '../../components/text/code-block.tsx'
import { Drawer } from '../../components/overlays/drawer.tsx'
import { Facts } from '../../components/facts.tsx'
import type { Fact } from '../../components/facts.tsx'
import { Id } from '../../components/id.tsx'
import { EmptyState, ErrorState, SkeletonRows } from '../../components/states.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { Duration, Money } from '../../components/values.tsx'
import { Waterfall } from '../../components/charts/waterfall.tsx'
import type { WaterfallRow } from '../../components/charts/waterfall.tsx'
import { formatCount, formatMoment } from '../../lib/format.ts'
import { t } from '../logs.page.ts'
import { operationOfRoute } from '../playground/operations.ts'
import { attemptSteps, Attempts, FailureReason } from './attempts.tsx'
import { CallCost } from './call-cost.tsx'
import { upstreamOf } from './names.ts'
import { OutcomeBadge } from './outcome.tsx'
import { SessionCalls } from './session-calls.tsx'
import { BodiesTab, MessagesTab } from './call-messages-view.tsx'

interface CallDrawerProps {
  readonly id: string
  /** The call as the list has it, so that nothing is asked again; absent = it is not in what was loaded. */
  readonly listed: SpendLog | undefined
  /** Steps through the list: 1 = below, -1 = above. */
  readonly onStep: (step: 1 | -1) => void
  /** Opens another call, which may be none of the list. */
  readonly onOpen: (id: string) => void
  readonly onClose: () => void
}

/** One call: what happened when, what was counted, what it cost. */
export function CallDrawer({ id, listed, onStep, onOpen, onClose }: CallDrawerProps) {
  useArrows(onStep)
  const found = useQuery({ ...callQuery(id), enabled: !listed })
  const call = listed ?? found.data
  const actions = (
    <>
      <Button
        kind="quiet"
        icon={<ChevronUp size={16} aria-hidden />}
        aria-label={t('logs.previous')}
        onClick={() => onStep(-1)}
      />
      <Button
        kind="quiet"
        icon={<ChevronDown size={16} aria-hidden />}
        aria-label={t('logs.next')}
        onClick={() => onStep(1)}
      />
    </>
  )
  return (
    <Drawer open onClose={onClose} title={call?.model ?? t('logs.call')} actions={actions}>
      {!call && found.isPending && <SkeletonRows />}
      {!call && found.isError && <ErrorState error={found.error} onRetry={() => void found.refetch()} />}
      {!call && found.isSuccess && <EmptyState title={t('error.notFound')}>{t('error.notFoundHelp')}</EmptyState>}
      {call && <Call call={call} onOpen={onOpen} />}
    </Drawer>
  )
}

/** Arrows and j, k go through the list while the drawer is open, except in fields and lists of choices. */
function useArrows(onStep: (step: 1 | -1) => void): void {
  const latest = useRef(onStep)
  latest.current = onStep
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key] as 1 | -1 | undefined
      if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return
      const inField = 'input, textarea, [role=combobox], [role=listbox], [role=menu]'
      if (event.target instanceof Element && event.target.closest(inField)) return
      event.preventDefault()
      event.stopPropagation()
      latest.current(step)
    }
    document.addEventListener('keydown', press, { capture: true })
    return () => document.removeEventListener('keydown', press, { capture: true })
  }, [])
}

function Call({ call, onOpen }: { readonly call: SpendLog } & Pick<CallDrawerProps, 'onOpen'>) {
  return (
    <div className="flex flex-col gap-6">
      <div className="flex flex-wrap items-center gap-4">
        <OutcomeBadge call={call} />
        <Duration milliseconds={call.duration_ms} />
        <CallCost call={call} />
        {operationOfRoute(call.route) && (
          <Link to="/playground" search={{ call: call.request_id }} className={buttonClass()}>
            {t('logs.replay')}
          </Link>
        )}
      </div>
      <FailureReason call={call} />
      <Waterfall rows={steps(call)} totalMs={call.duration_ms} />
      {call.attempt_list && <Attempts attempts={call.attempt_list} />}
      {call.session_id && <SessionCalls call={call} sessionId={call.session_id} onOpen={onOpen} />}
      <Tabs
        label={t('all.details')}
        tabs={[
          { value: 'call', label: t('logs.call'), content: <Facts facts={callFacts(call)} /> },
          { value: 'messages', label: t('logs.messages'), content: <MessagesTab call={call} /> },
          { value: 'cost', label: t('logs.cost'), content: <Facts facts={costFacts(call)} /> },
          {
            value: 'raw',
            label: t('logs.raw'),
            content: (
              <div className="flex min-w-0 flex-col gap-4">
                <BodiesTab call={call} />
                <CodeBlock
                  label={t('logs.row')}
                  snippets={[{ title: 'JSON', code: JSON.stringify(call, undefined, 2) }]}
                />
              </div>
            ),
          },
        ]}
      />
    </div>
  )
}

function steps({
  first_byte_ms: firstMs,
  duration_ms: wholeMs,
  outcome,
  attempt_list: attempts,
}: SpendLog): WaterfallRow[] {
  if (attempts) return attemptSteps(attempts)
  const tone = outcome === 'success' ? 'good' : 'bad'
  if (firstMs === null) return [row('logs.whole', 0, wholeMs, tone)]
  return [row('logs.untilFirst', 0, firstMs, 'plain'), row('logs.answer', firstMs, wholeMs, tone)]
}

const row = (
  name: 'logs.whole' | 'logs.untilFirst' | 'logs.answer',
  startMs: number,
  endMs: number,
  tone: NonNullable<WaterfallRow['tone']>,
): WaterfallRow => ({ name: t(name), label: t(name), startMs, endMs, tone })

/** Facts of which something is known. */
const known = (facts: readonly (Fact | null)[]): Fact[] => facts.filter(fact => fact !== null)

const textFact = (name: string, value: string | null): Fact | null => (value ? { name, value } : null)
const idFact = (name: string, id: string | null): Fact | null => (id ? { name, value: <Id id={id} /> } : null)
/** What it is called, and its id. */
const namedFact = (name: string, id: string | null, called: string | null): Fact | null =>
  id && called
    ? {
        name,
        value: (
          <span className="flex flex-wrap items-center justify-end gap-x-2">
            <span dir="auto">{called}</span>
            <Id id={id} />
          </span>
        ),
      }
    : idFact(name, id)
const countFact = (name: string, count: number | null): Fact | null =>
  count ? { name, value: <span className="numbers">{formatCount(count)}</span> } : null

function callFacts(call: SpendLog): Fact[] {
  return known([
    idFact(t('logs.callId'), call.request_id),
    textFact(t('logs.at'), formatMoment(call.started_at_ms)),
    textFact(t('logs.operation'), `${call.operation}${call.stream ? `, ${t('logs.stream')}` : ''}`),
    textFact(t('logs.route'), call.route),
    textFact(t('logs.upstream'), upstreamOf(call)),
    idFact(t('logs.deployment'), call.deployment_id),
    countFact(t('logs.attempts'), call.attempts),
    textFact(t('logs.cache'), call.cache_hit_kind),
    textFact(t('logs.guardrails'), call.guardrails),
    textFact(t('logs.key'), call.key_alias),
    idFact(t('logs.keyId'), call.key_id),
    namedFact(t('logs.user'), call.user_id, call.user_email),
    namedFact(t('logs.team'), call.team_id, call.team_alias),
    namedFact(t('logs.organization'), call.organization_id, call.organization_alias),
    textFact(t('logs.customer'), call.end_user),
    textFact(t('logs.tags'), call.request_tags?.join(', ') ?? null),
    idFact(t('logs.session'), call.session_id),
    textFact(t('logs.client'), call.client_name),
    textFact(t('logs.userAgent'), call.user_agent),
    textFact(t('logs.address'), call.client_address),
  ])
}

function costFacts(call: SpendLog): Fact[] {
  return known([
    { name: t('logs.cost'), value: <CallCost call={call} /> },
    textFact(t('logs.costSource'), call.cost_source),
    textFact(t('logs.priceList'), call.price_list),
    textFact(t('logs.priceTerms'), call.price_terms),
    call.saved_nano_usd === null
      ? null
      : { name: t('logs.saved'), value: <Money usd={Number(call.saved_nano_usd) / 1e9} /> },
    textFact(t('logs.usageSource'), call.usage_source),
    countFact(t('logs.input'), call.input_tokens),
    countFact(t('logs.cached'), call.cached_input_tokens),
    countFact(t('logs.cacheWrite'), call.cache_write_tokens),
    countFact(t('logs.output'), call.output_tokens),
    countFact(t('logs.reasoning'), call.reasoning_tokens),
    countFact(t('logs.images'), call.images),
    countFact(t('logs.webSearches'), call.web_searches),
    textFact(t('logs.tier'), call.service_tier),
  ])
}
